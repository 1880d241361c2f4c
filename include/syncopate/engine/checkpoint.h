/* Checkpoints: what a run saves so that it can be resumed. DIR/checkpoints/step-N contains one
 * archive per worker; docs/formats.md describes its contents.
 *
 *     uint64_t steps[SYN_CHECKPOINTS_MOST];
 *     size_t count = syn_checkpoint_list("runs/lenet-mnist-1", steps);
 *     syn_checkpoint_path("runs/lenet-mnist-1", steps[0], 0, path);
 *     syn_archive_load(path, &archive);
 *     syn_checkpoint_head(archive, path, &head); */
#ifndef SYNCOPATE_ENGINE_CHECKPOINT_H
#define SYNCOPATE_ENGINE_CHECKPOINT_H

#include <stddef.h>
#include <stdint.h>

#include <syncopate/archive.h>
#include <syncopate/status.h>

#ifdef __cplusplus
extern "C" {
#endif

/* The section "train/head" of a worker's archive, as stored in the file. */
struct syn_checkpoint_head {
    uint64_t version; /* 1 */
    uint64_t rank;    /* of the worker that wrote it */
    uint64_t workers;
    uint64_t step;  /* updates made */
    uint64_t steps; /* updates planned for the whole run */
    uint64_t place; /* batches of the training part read since the start: complete epochs times
                     * batches per epoch, plus those of the current epoch; differs from step once
                     * the number of workers has changed */
    uint64_t steps_per_epoch;
    uint64_t params;
    uint64_t weights_hash;   /* of the global weights; the same in all archives of a checkpoint */
    uint64_t evaluated_step; /* of the last evaluation; 0 for none */
    double seconds;          /* duration of the run so far */
    double bytes_out;        /* of the busiest worker so far; likewise bytes_in */
    double bytes_in;
    double residual_norm; /* of this worker's residual; negative if it keeps none */
    char model[32];
    char data[32];
    char algo[32];
};

/* Read and check the head.
 *   origin  where the archive came from, such as a file name; for error messages
 * SYN_FORMAT if it is missing or not valid. */
enum syn_status syn_checkpoint_head(const struct syn_archive *archive, const char *origin,
                                    struct syn_checkpoint_head *head);

#define SYN_CHECKPOINTS_MOST  16   /* maximum number listed; two are kept */
#define SYN_CHECKPOINT_PATH   1024 /* bytes of a path, including its NUL */
#define SYN_CHECKPOINT_FOLDER "checkpoints"
#define SYN_RUN_MODEL         "model.json" /* a copy of its model_file */

/* The steps of the complete checkpoints of a run, the latest first; returns how many.
 *   directory  of the run */
size_t syn_checkpoint_list(const char *directory, uint64_t steps[SYN_CHECKPOINTS_MOST]);

/* The path of a worker's archive in such a checkpoint. SYN_INVALID if it is too long. */
enum syn_status syn_checkpoint_path(const char *directory, uint64_t step, size_t rank,
                                    char path[SYN_CHECKPOINT_PATH]);

#ifdef __cplusplus
}
#endif
#endif

/* Checkpoints: what a run leaves so that it can go on from there. DIR/checkpoints/step-N holds an
 * archive for each worker; docs/formats.md has what is in it.
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

/* The section "train/head" of a worker's archive, as it lies in the file. */
struct syn_checkpoint_head {
    uint64_t version; /* 1 */
    uint64_t rank;    /* the worker that wrote it, of so many */
    uint64_t workers;
    uint64_t step;  /* updates made */
    uint64_t steps; /* updates that the run was to make */
    uint64_t place; /* batches of the training part since its beginning: epochs times batches of an
                     * epoch, and those of this one; differs from step once the number of workers
                     * has changed */
    uint64_t steps_per_epoch;
    uint64_t params;
    uint64_t weights_hash;   /* of the global weights; the same in all archives of a checkpoint */
    uint64_t evaluated_step; /* of the last evaluation; 0 for none */
    double seconds;          /* that the run has taken so far */
    double bytes_out;        /* of the busiest worker so far; likewise in */
    double bytes_in;
    double residual_norm; /* of what this worker has not sent; negative if nothing is kept */
    char model[32];
    char data[32];
    char algo[32];
};

/* Read and check the head.
 *   origin  named in complaints, such as the file
 * SYN_FORMAT if it is not there or cannot be one. */
enum syn_status syn_checkpoint_head(const struct syn_archive *archive, const char *origin,
                                    struct syn_checkpoint_head *head);

#define SYN_CHECKPOINTS_MOST  16   /* that are looked at; two are kept */
#define SYN_CHECKPOINT_PATH   1024 /* bytes of a path with its NUL */
#define SYN_CHECKPOINT_FOLDER "checkpoints"
#define SYN_RUN_MODEL         "model.json" /* a copy of its model_file */

/* The steps of the complete checkpoints of a run, the latest first; returns how many.
 *   directory  of the run */
size_t syn_checkpoint_list(const char *directory, uint64_t steps[SYN_CHECKPOINTS_MOST]);

/* The archive of a worker in such a checkpoint. SYN_INVALID if the path is too long. */
enum syn_status syn_checkpoint_path(const char *directory, uint64_t step, size_t rank,
                                    char path[SYN_CHECKPOINT_PATH]);

#ifdef __cplusplus
}
#endif
#endif

/* Checkpoints: saving a run so that it can go on from there, and going on. */
#ifndef SYN_ENGINE_TRAIN_CHECKPOINT_H
#define SYN_ENGINE_TRAIN_CHECKPOINT_H

#include <stdbool.h>

#include <syncopate/engine/checkpoint.h>

#include "engine/train/evaluate/evaluate.h"

#define SYN_OFFERS           4 /* checkpoints that a worker looks for before it gives up */
#define SYN_CHECKPOINTS_KEPT 2 /* the latest */

struct syn_checkpoints {
    struct syn_replica *replica; /* these three are lent */
    struct syn_metrics *metrics;
    struct syn_evaluation *evaluation;
    uint64_t saved; /* the step of the last one; UINT64_MAX for none */
    bool is_lost;   /* the last weights could not be saved */
    struct syn_checkpoint_head offers[SYN_OFFERS]; /* what this worker could resume from */
    size_t offer_count;
    struct syn_checkpoint_head from; /* what all resume from */
};

/* Save all workers' states as the checkpoint of this step, unless that is there already.
 *   written  false if some file could not be written; the cause has been logged, and earlier
 *            checkpoints are as they were
 * Collective. Weights that are not finite are not saved: SYN_NONFINITE. */
enum syn_status syn_checkpoint_write(struct syn_checkpoints *checkpoints, bool *written);

/* Refuse a directory whose file system has no room for all checkpoints of so many bytes each that
 * there can be at once: those that are kept and the one that is being written. Those that are there
 * already have their room, or give it back.
 *   directory  need not be there yet
 *   kept       how many a run keeps */
enum syn_status syn_checkpoint_check_room(const char *directory, double bytes, size_t kept);

/* Remove what a run that was killed had begun. */
void syn_checkpoint_clear_parts(const char *directory);

/* Whether options agree with the settings in a checkpoint: what contradicts them is SYN_INVALID,
 * what may change with a resumed run is not looked at. */
enum syn_status syn_checkpoint_check_settings(const struct syn_archive *archive,
                                              const struct syn_train_options *options);

/* Find the checkpoints that this worker could go on from, and check the options against the
 * latest. */
enum syn_status syn_resume_survey(struct syn_checkpoints *checkpoints);

/* Agree with the others on the latest that all can go on from, and place the run there. Collective,
 * before the worker is opened. */
enum syn_status syn_resume_agree(struct syn_checkpoints *checkpoints);

/* Take on its state. Collective. */
enum syn_status syn_resume_load(struct syn_checkpoints *checkpoints);

#endif

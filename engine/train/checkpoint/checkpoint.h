/* Checkpoints: saving a run so that it can be resumed, and resuming it. */
#ifndef SYN_ENGINE_TRAIN_CHECKPOINT_H
#define SYN_ENGINE_TRAIN_CHECKPOINT_H

#include <stdbool.h>

#include <syncopate/engine/checkpoint.h>

#include "engine/train/evaluate/evaluate.h"

#define SYN_OFFERS           4 /* checkpoints that a worker tries before it gives up */
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

/* Save all workers' states as the checkpoint of this step, unless it already exists.
 *   written  false if some file could not be written; the cause has been logged, and earlier
 *            checkpoints are unchanged
 * Collective. Weights that are not finite are not saved: SYN_NONFINITE. */
enum syn_status syn_checkpoint_write(struct syn_checkpoints *checkpoints, bool *written);

/* Check that the file system of a directory has room for the largest number of checkpoints, of that
 * many bytes each, that can exist at once: those that are kept and the one being written. Existing
 * checkpoints already have their space, or will free it.
 *   directory  need not exist yet
 *   kept       how many a run keeps */
enum syn_status syn_checkpoint_check_room(const char *directory, double bytes, size_t kept);

/* Remove incomplete checkpoints of a run that was killed. */
void syn_checkpoint_clear_parts(const char *directory);

/* Check that options agree with the settings in a checkpoint: a contradiction is SYN_INVALID;
 * settings that may change in a resumed run are not compared. */
enum syn_status syn_checkpoint_check_settings(const struct syn_archive *archive,
                                              const struct syn_train_options *options);

/* Find the checkpoints that this worker could resume from, and check the options against the
 * latest. */
enum syn_status syn_resume_survey(struct syn_checkpoints *checkpoints);

/* Agree with the others on the latest one that all can resume from, and set the run's position to
 * it. Collective, before the worker is opened. */
enum syn_status syn_resume_agree(struct syn_checkpoints *checkpoints);

/* Load its state. Collective. */
enum syn_status syn_resume_load(struct syn_checkpoints *checkpoints);

#endif

/* A run in progress, and the training loop: a batch, its gradient, the next weights. */
#ifndef SYN_ENGINE_TRAIN_LOOP_H
#define SYN_ENGINE_TRAIN_LOOP_H

#include "engine/train/checkpoint/checkpoint.h"
#include "engine/train/loop/forms.h"
#include "engine/train/loop/members.h"

/* What computing a step needs. */
struct syn_compute {
    float *gradient;  /* [params] */
    float *sum;       /* [params] of the gradients of a step; NULL if there is one */
    bool *handed;     /* [tensors] handed over during this backward pass */
    size_t count;     /* of them */
    int64_t spent_ns; /* of this step's backward pass, on handing tensors over */
    float *undo;      /* model state that a step changes before it is complete */
};

struct syn_run {
    struct syn_replica replica;
    struct syn_compute compute;
    struct syn_forms forms;
    struct syn_metrics metrics;
    struct syn_control control;
    struct syn_evaluation evaluation;
    struct syn_checkpoints checkpoints;
};

/* Check that all members were given the same settings. Collective over the whole group, before
 * servers are appointed. A difference: SYN_INVALID on all, with the name and both values. */
enum syn_status syn_train_compare(const struct syn_train_options *options, struct syn_group *group);

/* Prepare all that a worker can prepare without the others; bad input is found here.
 *   run  zeroed; close it even after a failure; it must not be moved */
enum syn_status syn_run_open(const struct syn_train_options *options, struct syn_group *group,
                             struct syn_run *run);

/* Check that no member has found bad input. Collective, unless something else went wrong.
 *   status  what this member has found, its cause in syn_error_text(); returned if it is not
 *           SYN_OK */
enum syn_status syn_run_meet(struct syn_group *group, enum syn_status status);

/* Check that all members read the same data and build the same model. Collective. A difference:
 * SYN_INVALID on all, with both values. */
enum syn_status syn_run_compare(const struct syn_run *run);

/* Find the checkpoints to resume from, and create the run's directory. */
enum syn_status syn_run_prepare(struct syn_run *run);

/* Meet the other workers. Collective. */
enum syn_status syn_run_join(struct syn_run *run);

/* One batch, its gradient, the next weights. Collective, unless nothing is exchanged. */
enum syn_status syn_run_step(struct syn_run *run);

/* All remaining steps, with what is due between them. Collective. */
enum syn_status syn_run_loop(struct syn_run *run);

/* Write the summary, if its weights could be saved. */
enum syn_status syn_run_finish(struct syn_run *run, struct syn_train_summary *summary);

void syn_run_close(struct syn_run *run);

#endif

/* A run while it goes on: all that the loop works with. */
#ifndef SYN_ENGINE_TRAIN_RUN_H
#define SYN_ENGINE_TRAIN_RUN_H

#include <syncopate/engine/train.h>

#include "engine/train/checkpoint/checkpoint.h"
#include "engine/train/metrics/files.h"
#include "engine/train/metrics/sums.h"
#include "engine/train/options/length.h"
#include "engine/train/replica/update.h"

#define SYN_OFFERS 4 /* checkpoints that a worker looks for before it gives up */

/* The evaluation with the lowest loss on the validation part. Its checkpoint is kept. */
struct syn_best {
    uint64_t step; /* 0: there was none */
    double epoch;
    double loss;
};

struct syn_run {
    struct syn_train_options options;
    struct syn_group *group; /* lent */
    size_t rank;
    uint64_t threads;             /* that this worker computes on */
    char *hosts;                  /* on what all do, as settings.json tells it */
    struct syn_train_watch watch; /* worker 0's; the others have stops alone */
    struct syn_stop_hook stop;    /* for the model; stops is NULL if no step is to be given up */
    bool *told;                   /* [tensors] handed over during this backward pass */
    size_t told_count;
    int64_t step_ns; /* when this step began */
    float *undo;     /* what a step changes of the model before it is complete */
    struct syn_data *data;
    struct syn_model *model;
    struct syn_loader *learning;
    struct syn_loader *judging;    /* NULL if nothing is evaluated */
    struct syn_loader *validating; /* NULL if there is no validation part: images have none */
    bool has_no_stream;            /* more workers than columns to evaluate */
    struct syn_update update;
    struct syn_files files; /* worker 0's; the others know the directory */
    size_t params;
    float *weights;             /* [params] to compute at */
    float *global;              /* [params] the model as it would be saved */
    float *statistics;          /* [1 + workers][statistics] room to average them */
    struct syn_report *reports; /* [workers] room to hear everyone's */
    float *gradient;            /* [params] */
    float *sum;                 /* [params] of the gradients of a step; NULL if there is one */
    bool on_text;
    uint64_t steps;
    uint64_t steps_per_epoch;
    uint64_t step;  /* updates made */
    int64_t ahead;  /* batches gone through, less updates made: not 0 once workers have changed */
    uint64_t saved; /* the step of the last checkpoint; UINT64_MAX for none */
    struct syn_checkpoint_head offers[SYN_OFFERS]; /* what this worker could resume from */
    size_t offer_count;
    struct syn_checkpoint_head from; /* what all resume from */
    int64_t began_ns;
    int64_t handed_ns;       /* of this step's backward pass, spent on handing tensors over */
    struct syn_meter lately; /* since the last line of metrics.jsonl; this worker's */
    struct syn_meter last;   /* what the last line of metrics.jsonl says */
    struct syn_meter total;
    struct syn_meter judged;     /* the last evaluation */
    struct syn_meter validated;  /* the same on the validation part */
    struct syn_best best;        /* of the run so far, by the validation part */
    uint64_t judged_step;        /* of what weights it was; 0 for none */
    struct syn_cost cost_before; /* the worker's at the last line of metrics.jsonl */
    struct syn_cost unreported;  /* what it had spent since then when it was saved */
    struct syn_cost lately_cost; /* since then: times of worker 0, bytes of the busiest one */
    double bytes_out;            /* of the busiest worker, over the run */
    double bytes_in;
    struct syn_cost answered; /* of all workers over the run: how stale they were */
    bool is_lost;             /* the last weights could not be saved */
    bool wants_stop;          /* the watcher has said so */
    bool stopped;             /* all workers know */
    bool was_cut;             /* this worker gave a step up */
    bool wants_save;          /* a checkpoint is due by the clock; all workers know */
    int64_t saved_ns;         /* when the last one was written, or the run began */
    struct syn_wish *wishes;  /* [workers] room to hear who wants to stop */
    bool is_asking;           /* the answers are under way */
    uint64_t ask_at;          /* the step at which they ask each other again */
    uint64_t asked_at;        /* the step of the last time, and when that was */
    int64_t asked_ns;
};

/* What workers tell each other when they meet: when a line of metrics.jsonl or a checkpoint is
 * due. */
struct syn_report {
    struct syn_meter meter;
    struct syn_cost cost; /* since the last report */
    uint64_t is_good;     /* its part of a checkpoint is on the disk */
};

/* What they tell each other in passing. */
struct syn_wish {
    uint64_t wants_stop;
    uint64_t wants_save; /* worker 0's counts */
    uint64_t was_cut;
    uint64_t step;
    int64_t asked_ns; /* since the last time */
};

/* Make ready all that a worker can make ready by itself; bad input is found here.
 *   run  zeroed; close it even after a failure */
enum syn_status syn_run_open(const struct syn_train_options *options, struct syn_group *group,
                             struct syn_run *run);

/* See that no member has found bad input. Collective, unless something else went wrong.
 *   status  what this one has found, its cause in syn_error_text(); returned if it is not SYN_OK */
enum syn_status syn_run_meet(struct syn_group *group, enum syn_status status);

/* See that all members read the same data and build the same model. Collective.
 * A difference: SYN_INVALID on all, with both values. */
enum syn_status syn_run_compare(const struct syn_run *run);

/* Whether this member is a parameter server, which has neither loaders nor files. */
bool syn_run_serves(const struct syn_run *run);

/* Find what there is to resume from, and make the run's directory. */
enum syn_status syn_run_prepare(struct syn_run *run);

/* With algo auto: measure, choose the method that suits, and write down why. Collective. */
enum syn_status syn_run_choose(struct syn_run *run);

/* Meet the other workers. Collective. */
enum syn_status syn_run_join(struct syn_run *run);

/* One batch, its gradient, the next weights. Collective, unless nothing is exchanged. */
enum syn_status syn_run_step(struct syn_run *run);

/* Whether a step that is given up can be undone on all workers: peers that wait for each other's
 * gradients are told by one that is not a number that it did not happen. With a delay, or with
 * servers, that would cost more than the step. */
bool syn_run_can_undo(const struct syn_run *run);

/* Let the watcher end a step in its middle, if it wants to be able to. */
void syn_run_arm(struct syn_run *run);

/* Room for, and a copy of, what a step changes of the model before it is complete; put it back if
 * the step is given up. The copy is made only if steps can be. */
enum syn_status syn_run_allocate_undo(struct syn_run *run);
void syn_run_remember(struct syn_run *run);
void syn_run_undo(struct syn_run *run);

/* After a step that failed because of numbers: whether a worker gave it up, and if so, stop before
 * it. Collective; otherwise fails as the step did. */
enum syn_status syn_run_hear_of_cut(struct syn_run *run);

/* Hear from the others now and then who wants to stop, and whether a checkpoint is due by the
 * clock. Collective.
 *   meets  the workers meet after this step anyway */
enum syn_status syn_run_ask_to_stop(struct syn_run *run, bool meets);

/* Go through the test part with the global weights, each worker its share, and append a line to
 * metrics.jsonl. Collective. */
enum syn_status syn_run_judge(struct syn_run *run);

/* Append the line of an evaluation to metrics.jsonl. */
void syn_run_log_judged(struct syn_run *run);

/* Tell the other workers what happened since the last time and hear what they did. Afterwards
 * `lately` is everyone's. Collective. */
enum syn_status syn_run_agree(struct syn_run *run);

/* Append the line of the last steps to metrics.jsonl and begin to count anew. */
void syn_run_log(struct syn_run *run);

/* What this worker has spent since the last line of metrics.jsonl. */
struct syn_cost syn_run_unreported(const struct syn_run *run);

/* How many batches of the training part lie behind, all epochs counted. */
uint64_t syn_run_place(const struct syn_run *run);

/* How long the run is, in batches of the training part. */
struct syn_length syn_run_length(const struct syn_run *run);

/* A hash of the global weights. */
uint64_t syn_run_hash(const struct syn_run *run);

/* Tell the watcher how far the run is; sets stopped if it says so.
 *   evaluated  share of an evaluation that is done; negative outside of one */
void syn_run_tell(struct syn_run *run, double evaluated);

/* What came of it. */
struct syn_train_summary syn_run_summary(const struct syn_run *run);

void syn_run_close(struct syn_run *run);

#endif

/* Evaluating the global weights on the test part, and on the validation part where there is one. */
#ifndef SYN_ENGINE_TRAIN_EVALUATE_H
#define SYN_ENGINE_TRAIN_EVALUATE_H

#include "engine/train/control/control.h"
#include "engine/train/metrics/metrics.h"

/* The evaluation with the lowest loss. Its checkpoint is kept. Lies in
 * checkpoints as it is here. */
struct syn_best {
    uint64_t step; /* 0: there was none */
    double epoch;
    double loss;
};

struct syn_evaluation {
    struct syn_replica *replica; /* these three are lent */
    struct syn_metrics *metrics;
    struct syn_control *control;
    struct syn_loader *test;       /* NULL if nothing is evaluated */
    struct syn_loader *validation; /* NULL if there is no validation part: images have none */
    bool has_no_stream;            /* more workers than columns to evaluate */
    float *statistics;             /* [1 + workers][statistics] room to average them */
    struct syn_scores scores;      /* of the last evaluation */
    uint64_t step;                 /* of what weights it was; 0 for none */
    struct syn_best best;          /* of the run so far, by the part that decides */
};

/* Open the parts of the data that are to be evaluated, if any.
 *   replica     open, not built yet; lent, as the others are
 *   evaluation  zeroed; close it even after a failure */
enum syn_status syn_evaluation_open(struct syn_replica *replica, struct syn_metrics *metrics,
                                    struct syn_control *control, struct syn_evaluation *evaluation);

/* The most examples that the model will be given at once, in training or in an evaluation. */
uint64_t syn_evaluation_batch(struct syn_evaluation *evaluation);

/* Take the room that an evaluation needs. The replica must be built. */
enum syn_status syn_evaluation_allocate(struct syn_evaluation *evaluation);

/* Whether one is due after this step, and has not been made. */
bool syn_evaluation_is_due(const struct syn_evaluation *evaluation);

/* Go through the test part with the global weights, each worker its share, and append a line to
 * metrics.jsonl. Collective. */
enum syn_status syn_evaluate(struct syn_evaluation *evaluation);

/* Whether the checkpoint of the best evaluation is kept. */
bool syn_evaluation_keeps_best(const struct syn_evaluation *evaluation);

/* Show the watcher how far the run is; control->wants_stop is set if it says so.
 *   evaluated  share of an evaluation that is done; negative outside of one */
void syn_evaluation_tell(struct syn_evaluation *evaluation, double evaluated);

/* Add what was found to a summary. */
void syn_evaluation_summary(const struct syn_evaluation *evaluation,
                            struct syn_train_summary *summary);

void syn_evaluation_close(struct syn_evaluation *evaluation);

#endif

/* Evaluating the global weights on the test part, and on the validation part if there is one. */
#ifndef SYN_ENGINE_TRAIN_EVALUATE_H
#define SYN_ENGINE_TRAIN_EVALUATE_H

#include "engine/train/control/control.h"
#include "engine/train/metrics/metrics.h"

/* The evaluation with the lowest loss. Its checkpoint is kept. Stored in checkpoints as is. */
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
    uint64_t step;                 /* of the evaluated weights; 0 for none */
    struct syn_best best;          /* of the run so far, by the deciding part */
};

/* Open the parts of the data to evaluate, if any.
 *   replica     open, not built yet; lent, like the others
 *   evaluation  zeroed; close it even after a failure */
enum syn_status syn_evaluation_open(struct syn_replica *replica, struct syn_metrics *metrics,
                                    struct syn_control *control, struct syn_evaluation *evaluation);

/* The most examples that the model will be given at once, in training or in an evaluation. */
uint64_t syn_evaluation_batch(struct syn_evaluation *evaluation);

/* Allocate the memory that an evaluation needs. The replica must be built. */
enum syn_status syn_evaluation_allocate(struct syn_evaluation *evaluation);

/* Whether one is due after this step, and has not been made. */
bool syn_evaluation_is_due(const struct syn_evaluation *evaluation);

/* Evaluate the global weights on the test part, each worker on its share, and append a line to
 * metrics.jsonl. Collective. */
enum syn_status syn_evaluate(struct syn_evaluation *evaluation);

/* Whether the checkpoint of the best evaluation is kept. */
bool syn_evaluation_keeps_best(const struct syn_evaluation *evaluation);

/* Show the watcher how far the run is; control->wants_stop is set if it asks to stop.
 *   evaluated  share of an evaluation that is done; negative outside of one */
void syn_evaluation_tell(struct syn_evaluation *evaluation, double evaluated);

/* Add the results to a summary. */
void syn_evaluation_summary(const struct syn_evaluation *evaluation,
                            struct syn_train_summary *summary);

void syn_evaluation_close(struct syn_evaluation *evaluation);

#endif

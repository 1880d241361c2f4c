/* Sums over steps: loss, labels, examples and times, from which means are computed. */
#ifndef SYN_ENGINE_TRAIN_SUMS_H
#define SYN_ENGINE_TRAIN_SUMS_H

#include <stdint.h>

#include <syncopate/engine/model.h>

/* Where the time of one step went, and its results. */
struct syn_step_record {
    struct syn_step_result result;
    size_t examples; /* images, or words of text */
    double lr;
    double gradient_norm; /* before clipping */
    int64_t data_wait_ns;
    int64_t compute_ns;
    int64_t update_ns;
};

/* Sums over steps; plain data, initially zeroed. */
struct syn_sums {
    uint64_t steps;
    uint64_t examples;
    double loss_sum; /* of single labels */
    uint64_t correct;
    uint64_t counted;
    double gradient_norm_sum;
    int64_t data_wait_ns;
    int64_t compute_ns;
    int64_t update_ns;
    double lr; /* of the last step */
};

void syn_sums_add(struct syn_sums *sums, const struct syn_step_record *record);

/* Add the sums of another worker over the same steps: examples add up, times do not. */
void syn_sums_join(struct syn_sums *sums, const struct syn_sums *other);

/* Continue the sums of earlier steps with those of later ones. */
void syn_sums_extend(struct syn_sums *sums, const struct syn_sums *later);

/* Means over the steps added; NAN for none. */
double syn_sums_loss(const struct syn_sums *sums);
double syn_sums_accuracy(const struct syn_sums *sums); /* 0 .. 1 */
double syn_sums_examples_per_s(const struct syn_sums *sums);
double syn_sums_ms_per_step(const struct syn_sums *sums);

#endif

/* What happened since the last line of metrics.jsonl. */
#ifndef SYN_ENGINE_TRAIN_METER_H
#define SYN_ENGINE_TRAIN_METER_H

#include <stdint.h>

#include <syncopate/engine/model.h>

/* Where the time of one step went, and what it found. */
struct syn_step_record {
    struct syn_step_result result;
    size_t examples; /* images, or words of text */
    double lr;
    double gradient_norm; /* before clipping */
    int64_t data_wait_ns;
    int64_t compute_ns;
    int64_t update_ns;
};

/* Sums over steps; plain data, zeroed to begin. */
struct syn_meter {
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

void syn_meter_add(struct syn_meter *meter, const struct syn_step_record *record);

/* Take in the sums of another worker over the same steps: examples add up, times do not. */
void syn_meter_join(struct syn_meter *meter, const struct syn_meter *other);

/* Go on from the sums of earlier steps. */
void syn_meter_extend(struct syn_meter *meter, const struct syn_meter *later);

/* Means over the steps added; NAN for none. */
double syn_meter_loss(const struct syn_meter *meter);
double syn_meter_accuracy(const struct syn_meter *meter); /* 0 .. 1 */
double syn_meter_examples_per_s(const struct syn_meter *meter);
double syn_meter_ms_per_step(const struct syn_meter *meter);

#endif

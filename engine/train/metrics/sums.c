/* Sums, from which means are computed on request. */
#include "engine/train/metrics/sums.h"

#include <math.h>

void syn_sums_add(struct syn_sums *sums, const struct syn_step_record *record)
{
    sums->steps++;
    sums->examples += record->examples;
    sums->loss_sum += record->result.loss * (double)record->result.counted;
    sums->correct += record->result.correct;
    sums->counted += record->result.counted;
    sums->gradient_norm_sum += record->gradient_norm;
    sums->data_wait_ns += record->data_wait_ns;
    sums->compute_ns += record->compute_ns;
    sums->update_ns += record->update_ns;
    sums->lr = record->lr;
}

void syn_sums_join(struct syn_sums *sums, const struct syn_sums *other)
{
    sums->examples += other->examples;
    sums->loss_sum += other->loss_sum;
    sums->correct += other->correct;
    sums->counted += other->counted;
}

void syn_sums_extend(struct syn_sums *sums, const struct syn_sums *later)
{
    syn_sums_join(sums, later);
    sums->steps += later->steps;
    sums->gradient_norm_sum += later->gradient_norm_sum;
    sums->data_wait_ns += later->data_wait_ns;
    sums->compute_ns += later->compute_ns;
    sums->update_ns += later->update_ns;
    sums->lr = later->lr;
}

static double ratio(double sum, double count)
{
    return count > 0 ? sum / count : (double)NAN;
}

static double busy_ns(const struct syn_sums *sums)
{
    return (double)(sums->data_wait_ns + sums->compute_ns + sums->update_ns);
}

double syn_sums_loss(const struct syn_sums *sums)
{
    return ratio(sums->loss_sum, (double)sums->counted);
}

double syn_sums_accuracy(const struct syn_sums *sums)
{
    return ratio((double)sums->correct, (double)sums->counted);
}

double syn_sums_examples_per_s(const struct syn_sums *sums)
{
    return ratio((double)sums->examples, busy_ns(sums) * 1e-9);
}

double syn_sums_ms_per_step(const struct syn_sums *sums)
{
    return ratio(busy_ns(sums) * 1e-6, (double)sums->steps);
}

/* Sums, from which means are taken when somebody asks. */
#include "engine/train/metrics/sums.h"

#include <math.h>

void syn_meter_add(struct syn_meter *meter, const struct syn_step_record *record)
{
    meter->steps++;
    meter->examples += record->examples;
    meter->loss_sum += record->result.loss * (double)record->result.counted;
    meter->correct += record->result.correct;
    meter->counted += record->result.counted;
    meter->gradient_norm_sum += record->gradient_norm;
    meter->data_wait_ns += record->data_wait_ns;
    meter->compute_ns += record->compute_ns;
    meter->update_ns += record->update_ns;
    meter->lr = record->lr;
}

void syn_meter_join(struct syn_meter *meter, const struct syn_meter *other)
{
    meter->examples += other->examples;
    meter->loss_sum += other->loss_sum;
    meter->correct += other->correct;
    meter->counted += other->counted;
}

void syn_meter_extend(struct syn_meter *meter, const struct syn_meter *later)
{
    syn_meter_join(meter, later);
    meter->steps += later->steps;
    meter->gradient_norm_sum += later->gradient_norm_sum;
    meter->data_wait_ns += later->data_wait_ns;
    meter->compute_ns += later->compute_ns;
    meter->update_ns += later->update_ns;
    meter->lr = later->lr;
}

static double ratio(double sum, double count)
{
    return count > 0 ? sum / count : (double)NAN;
}

static double busy_ns(const struct syn_meter *meter)
{
    return (double)(meter->data_wait_ns + meter->compute_ns + meter->update_ns);
}

double syn_meter_loss(const struct syn_meter *meter)
{
    return ratio(meter->loss_sum, (double)meter->counted);
}

double syn_meter_accuracy(const struct syn_meter *meter)
{
    return ratio((double)meter->correct, (double)meter->counted);
}

double syn_meter_examples_per_s(const struct syn_meter *meter)
{
    return ratio((double)meter->examples, busy_ns(meter) * 1e-9);
}

double syn_meter_ms_per_step(const struct syn_meter *meter)
{
    return ratio(busy_ns(meter) * 1e-6, (double)meter->steps);
}

/* One step: the next batch, its gradient, the update. It is the same for one worker and for many;
 * syn_update_step() hides the difference. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "engine/base/clock.h"
#include "engine/base/fail.h"
#include "engine/base/memory.h"
#include "engine/train/loop/compute.h"

static size_t statistics_size(const struct syn_replica *replica)
{
    return syn_layout_size(syn_model_statistics_layout(replica->model));
}

static size_t carry_size(const struct syn_replica *replica)
{
    return syn_layout_size(syn_model_carry_layout(replica->model));
}

static size_t tensors(const struct syn_replica *replica)
{
    return syn_layout_count(syn_model_layout(replica->model));
}

enum syn_status syn_compute_open(const struct syn_replica *replica, struct syn_compute *compute)
{
    size_t undo = statistics_size(replica) + carry_size(replica);
    if (replica->options.accumulate > 1)
        SYN_TRY(syn_engine_allocate(replica->params, sizeof(float), &compute->sum));
    SYN_TRY(syn_engine_allocate(replica->params, sizeof(float), &compute->gradient));
    SYN_TRY(syn_engine_allocate(tensors(replica), sizeof(bool), &compute->handed));
    return syn_engine_allocate(undo, sizeof(float), &compute->undo);
}

void syn_compute_close(struct syn_compute *compute)
{
    free(compute->gradient);
    free(compute->sum);
    free(compute->handed);
    free(compute->undo);
}

/* If steps can be given up, save the model state that a step changes before it is complete. */
static void remember(struct syn_run *run)
{
    struct syn_model *model = run->replica.model;
    float *undo = run->compute.undo;
    size_t statistics = statistics_size(&run->replica);
    size_t carry = carry_size(&run->replica);
    run->control.step_ns = syn_engine_clock_ns();
    if (!syn_control_hook(&run->control))
        return;
    if (statistics > 0)
        memcpy(undo, syn_model_statistics(model), statistics * sizeof *undo);
    if (carry > 0)
        memcpy(undo + statistics, syn_model_carry(model, SYN_CARRY_TRAINING), carry * sizeof *undo);
}

/* Restore it: the step was given up. */
static void restore(struct syn_run *run)
{
    struct syn_model *model = run->replica.model;
    const float *undo = run->compute.undo;
    size_t statistics = statistics_size(&run->replica);
    size_t carry = carry_size(&run->replica);
    if (statistics > 0)
        memcpy(syn_model_statistics(model), undo, statistics * sizeof *undo);
    if (carry > 0)
        memcpy(syn_model_carry(model, SYN_CARRY_TRAINING), undo + statistics, carry * sizeof *undo);
}

static enum syn_status refuse_nonfinite(const struct syn_run *run,
                                        const struct syn_step_record *record)
{
    const struct syn_replica *replica = &run->replica;
    const float *gradient = run->compute.gradient;
    unsigned long long step = replica->at.step + 1;
    size_t at = syn_gradient_find_nonfinite(gradient, replica->params);
    if (at == replica->params)
        return syn_report(SYN_NONFINITE, "step %llu: the loss is %g, at a learning rate of %g",
                          step, record->result.loss, record->lr);
    const struct syn_layout *layout = syn_model_layout(replica->model);
    struct syn_tensor tensor = syn_layout_tensor(layout, syn_layout_find(layout, at));
    return syn_report(SYN_NONFINITE,
                      "step %llu: the gradient of %s holds %g (loss %g), at a learning rate of %g",
                      step, tensor.name, (double)gradient[at], record->result.loss, record->lr);
}

/* The gradient of a tensor is final: the exchange of its bucket may begin. */
static enum syn_status hand_over(void *context, size_t tensor)
{
    struct syn_run *run = context;
    struct syn_compute *compute = &run->compute;
    int64_t began = syn_engine_clock_ns();
    compute->handed[tensor] = true;
    compute->count++;
    run->control.is_handed_over = compute->count == tensors(&run->replica);
    enum syn_status status = syn_worker_ready(run->replica.update.worker, tensor);
    compute->spent_ns += syn_engine_clock_ns() - began;
    return status;
}

static enum syn_status differentiate(struct syn_run *run, const struct syn_examples *examples,
                                     const struct syn_rates *rates, struct syn_step_result *result)
{
    struct syn_replica *replica = &run->replica;
    struct syn_compute *compute = &run->compute;
    struct syn_ready_hook hook = {hand_over, run};
    float *gradient = compute->gradient;
    compute->spent_ns = 0;
    compute->count = 0;
    run->control.is_handed_over = false;
    if (examples->count == 0) { /* this share ends earlier than the others */
        memset(gradient, 0, replica->params * sizeof *gradient);
        return SYN_OK;
    }
    if (!replica->update.starts_early)
        return syn_model_step(replica->model, replica->weights, examples, NULL, gradient, result);
    int64_t began = syn_engine_clock_ns();
    memset(compute->handed, 0, tensors(replica) * sizeof *compute->handed);
    SYN_TRY(syn_worker_start(replica->update.worker, gradient, rates));
    compute->spent_ns = syn_engine_clock_ns() - began;
    return syn_model_step(replica->model, replica->weights, examples, &hook, gradient, result);
}

static void add_result(struct syn_step_result *all, const struct syn_step_result *one)
{
    size_t counted = all->counted + one->counted;
    if (one->counted > 0)
        all->loss += (one->loss - all->loss) * (double)one->counted / (double)counted;
    all->correct += one->correct;
    all->counted = counted;
}

/* Forward and backward on the next batch.
 *   number  of the batch in the whole run */
static enum syn_status compute_one(struct syn_run *run, const struct syn_rates *rates,
                                   uint64_t number, struct syn_step_record *record)
{
    struct syn_batch batch;
    struct syn_step_result result = {0};
    struct syn_replica *replica = &run->replica;
    int64_t asked = syn_engine_clock_ns();
    syn_loader_next(replica->batches, &batch);
    int64_t began = syn_engine_clock_ns();
    struct syn_examples examples = syn_batches_examples(&batch, number);
    examples.stop = syn_control_hook(&run->control);
    if (batch.index == 0)
        syn_model_restart(replica->model, SYN_CARRY_TRAINING);
    SYN_TRY(differentiate(run, &examples, rates, &result));
    add_result(&record->result, &result);
    record->examples += replica->on_text ? batch.labelled : batch.count;
    record->data_wait_ns += began - asked;
    record->compute_ns += syn_engine_clock_ns() - began - run->compute.spent_ns;
    return SYN_OK;
}

/* The mean gradient over the batches of a step. */
static enum syn_status compute(struct syn_run *run, const struct syn_rates *rates,
                               struct syn_step_record *record)
{
    uint64_t batches = run->replica.options.accumulate;
    uint64_t step = run->replica.at.step;
    size_t params = run->replica.params;
    float *gradient = run->compute.gradient;
    float *sum = run->compute.sum;
    if (batches == 1)
        return compute_one(run, rates, step, record);
    memset(sum, 0, params * sizeof *sum);
    for (uint64_t b = 0; b < batches; b++) {
        SYN_TRY(compute_one(run, rates, step * batches + b, record));
        for (size_t i = 0; i < params; i++)
            sum[i] += gradient[i];
    }
    for (size_t i = 0; i < params; i++)
        gradient[i] = sum[i] / (float)batches;
    return SYN_OK;
}

/* A method without momentum takes steps as long as momentum would eventually make them, and an
 * asynchronous one takes P steps where the others take the mean of P, so that the same flags mean
 * the same for all methods. A learning rate of zero, with which schedules may end, moves nothing; a
 * worker requires one above zero. */
static struct syn_rates rates_of(const struct syn_replica *replica)
{
    const struct syn_train_options *options = &replica->options;
    const struct syn_worker_options *worker = &options->worker;
    struct syn_length length = syn_position_length(&replica->at);
    double lr = syn_train_lr(options, syn_position_place(&replica->at), length.steps,
                             (double)length.steps_per_epoch);
    if (!syn_worker_traits(worker).has_momentum)
        lr /= 1 - worker->optimizer.momentum;
    if (syn_train_is_async(options))
        lr /= (double)options->workers;
    return (struct syn_rates){.lr = lr > 1e-12 ? lr : 1e-12,
                              .density =
                                  syn_train_density(options, syn_position_epoch(&replica->at))};
}

/* What a worker that must end at once hands over instead of the gradient that it gave up: NaN,
 * which tells the others that this step does not happen, or zeros. Tensors that are already handed
 * over belong to the library. */
static enum syn_status give_up(struct syn_run *run)
{
    const struct syn_layout *layout = syn_model_layout(run->replica.model);
    float nothing = syn_control_can_undo(&run->control) ? NAN : 0;
    bool starts_early = run->replica.update.starts_early;
    run->control.was_cut = true;
    restore(run);
    for (size_t t = 0; t < syn_layout_count(layout); t++) {
        struct syn_tensor tensor = syn_layout_tensor(layout, t);
        if (starts_early && run->compute.handed[t])
            continue;
        for (size_t i = 0; i < tensor.count; i++)
            run->compute.gradient[tensor.offset + i] = nothing;
        if (starts_early)
            SYN_TRY(hand_over(run, t));
    }
    return SYN_OK;
}

/* A NaN gradient: another worker may have given up this step. */
static enum syn_status hear_of_cut(struct syn_run *run)
{
    SYN_TRY(syn_control_find_cut(&run->control));
    if (!run->control.was_cut)
        restore(run);
    return SYN_OK;
}

enum syn_status syn_run_step(struct syn_run *run)
{
    struct syn_replica *replica = &run->replica;
    const float *gradient = run->compute.gradient;
    struct syn_step_record record = {0};
    struct syn_rates rates = rates_of(replica);
    syn_forms_choose(&run->forms, replica->at.step, &rates);
    record.lr = rates.lr;
    remember(run);
    enum syn_status status = compute(run, &rates, &record);
    if (status == SYN_STOPPED) {
        SYN_TRY(give_up(run));
        if (syn_train_is_async(&replica->options))
            return SYN_OK; /* no worker waits for it */
    } else if (status != SYN_OK) {
        return status;
    }
    int64_t began = syn_engine_clock_ns();
    record.gradient_norm = run->control.was_cut ? 0 : syn_gradient_norm(gradient, replica->params);
    if (!isfinite(record.result.loss) || !isfinite(record.gradient_norm))
        return refuse_nonfinite(run, &record); /* the others are told why this worker leaves */
    status = syn_update_step(&replica->update, &rates, gradient, replica->weights);
    if (status == SYN_NONFINITE && syn_control_hook(&run->control))
        return hear_of_cut(run);
    SYN_TRY(status);
    record.update_ns = syn_engine_clock_ns() - began + run->compute.spent_ns;
    syn_sums_add(&run->metrics.now.sums, &record);
    syn_forms_note(&run->forms, &run->metrics);
    replica->at.step++;
    return SYN_OK;
}

/* The training loop: a batch, its gradient, the next weights, until the last step or until told
 * to stop. It is the same for one worker and for many; what differs between them lies behind
 * syn_update_step(). */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "engine/base/clock.h"
#include "engine/base/fail.h"
#include "engine/train/feed.h"
#include "engine/train/gradient.h"
#include "engine/train/options.h"
#include "engine/train/run.h"
#include "engine/train/team.h"

static enum syn_status refuse_nonfinite(const struct syn_run *run,
                                        const struct syn_step_record *record)
{
    unsigned long long step = run->step + 1;
    size_t at = syn_gradient_find_nonfinite(run->gradient, run->params);
    if (at == run->params)
        return syn_report(SYN_NONFINITE, "step %llu: the loss is %g, at a learning rate of %g",
                          step, record->result.loss, record->lr);
    const struct syn_layout *layout = syn_model_layout(run->model);
    struct syn_tensor tensor = syn_layout_tensor(layout, syn_layout_find(layout, at));
    return syn_report(
        SYN_NONFINITE, "step %llu: the gradient of %s holds %g (loss %g), at a learning rate of %g",
        step, tensor.name, (double)run->gradient[at], record->result.loss, record->lr);
}

/* With the exchange of complete buckets behind it, if that may begin early. */
static enum syn_status tell_ready(void *context, size_t tensor)
{
    struct syn_run *run = context;
    return syn_worker_ready(run->update.worker, tensor);
}

static enum syn_status differentiate(struct syn_run *run, const struct syn_examples *examples,
                                     const struct syn_rates *rates, struct syn_step_result *result)
{
    struct syn_ready_hook hook = {tell_ready, run};
    if (examples->count == 0) { /* a share that ends earlier than the others' */
        memset(run->gradient, 0, run->params * sizeof *run->gradient);
        return SYN_OK;
    }
    if (!run->update.starts_early)
        return syn_model_step(run->model, run->weights, examples, NULL, run->gradient, result);
    SYN_TRY(syn_worker_start(run->update.worker, run->gradient, rates));
    return syn_model_step(run->model, run->weights, examples, &hook, run->gradient, result);
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
    int64_t asked = syn_engine_clock_ns();
    syn_loader_next(run->learning, &batch);
    int64_t began = syn_engine_clock_ns();
    struct syn_examples examples = syn_feed_examples(&batch, number);
    if (batch.index == 0)
        syn_model_restart(run->model, SYN_CARRY_TRAINING);
    SYN_TRY(differentiate(run, &examples, rates, &result));
    add_result(&record->result, &result);
    record->examples += run->on_text ? batch.labelled : batch.count;
    record->data_wait_ns += began - asked;
    record->compute_ns += syn_engine_clock_ns() - began;
    return SYN_OK;
}

/* The mean gradient over the batches of a step. */
static enum syn_status compute(struct syn_run *run, const struct syn_rates *rates,
                               struct syn_step_record *record)
{
    uint64_t batches = run->options.accumulate;
    if (batches == 1)
        return compute_one(run, rates, run->step, record);
    memset(run->sum, 0, run->params * sizeof *run->sum);
    for (uint64_t b = 0; b < batches; b++) {
        SYN_TRY(compute_one(run, rates, run->step * batches + b, record));
        for (size_t i = 0; i < run->params; i++)
            run->sum[i] += run->gradient[i];
    }
    for (size_t i = 0; i < run->params; i++)
        run->gradient[i] = run->sum[i] / (float)batches;
    return SYN_OK;
}

/* A method without momentum takes steps as long as momentum would have made them in the end, and an
 * asynchronous one takes P steps where the others take the mean of P: so that the same flags mean
 * the same for all methods. A learning rate of zero, as schedules may end with, moves nothing; a
 * worker wants one above. */
static struct syn_rates rates_of(const struct syn_run *run)
{
    const struct syn_worker_options *worker = &run->options.worker;
    double epoch = (double)run->step / (double)run->steps_per_epoch;
    double lr = syn_train_lr(&run->options, run->step, run->steps, (double)run->steps_per_epoch);
    if (strcmp(worker->momentum_form, "none") == 0)
        lr /= 1 - worker->optimizer.momentum;
    if (syn_train_is_async(&run->options))
        lr /= (double)run->options.workers;
    return (struct syn_rates){.lr = lr > 1e-12 ? lr : 1e-12,
                              .density = syn_train_density(&run->options, epoch)};
}

static enum syn_status one_step(struct syn_run *run)
{
    double workers = (double)run->options.workers;
    struct syn_step_record record = {0};
    struct syn_rates rates = rates_of(run);
    record.lr = rates.lr;
    SYN_TRY(compute(run, &rates, &record));
    int64_t began = syn_engine_clock_ns();
    record.gradient_norm = syn_gradient_norm(run->gradient, run->params);
    bool is_finite = isfinite(record.result.loss) && isfinite(record.gradient_norm);
    if (!is_finite && workers == 1) /* else the exchange tells everybody */
        return refuse_nonfinite(run, &record);
    double scale = syn_gradient_scale(record.gradient_norm, run->options.clip / sqrt(workers));
    SYN_TRY(syn_update_step(&run->update, &rates, is_finite ? scale : 1, run->gradient, run->params,
                            run->weights));
    record.update_ns = syn_engine_clock_ns() - began;
    syn_meter_add(&run->lately, &record);
    run->step++;
    return SYN_OK;
}

static bool is_due(const struct syn_run *run, uint64_t every)
{
    return run->step == run->steps || run->step % every == 0;
}

static enum syn_status loop(struct syn_run *run)
{
    const struct syn_train_options *options = &run->options;
    uint64_t judge_every = options->eval_every ? options->eval_every : run->steps_per_epoch;
    run->began_ns = syn_engine_clock_ns();
    while (run->step < run->steps && !run->stopped) {
        SYN_TRY(one_step(run));
        syn_run_tell(run, -1);
        bool stops_alone = run->wants_stop && options->workers == 1;
        if (is_due(run, options->log_every) || stops_alone) {
            SYN_TRY(syn_run_agree(run));
            SYN_TRY(syn_run_log(run));
        }
        if (run->judging && is_due(run, judge_every) && !run->stopped)
            SYN_TRY(syn_run_judge(run));
    }
    return syn_worker_settle(run->update.worker, run->global);
}

static enum syn_status finish(struct syn_run *run, struct syn_train_summary *summary)
{
    struct syn_train_summary made = syn_run_summary(run);
    if (run->rank == 0)
        SYN_TRY(syn_files_finish(&run->files, &made));
    *summary = made;
    return SYN_OK;
}

/* A server has nothing to tell: worker 0 speaks for all. */
static enum syn_status serve(struct syn_run *run, struct syn_train_summary *summary)
{
    memset(summary, 0, sizeof *summary);
    return syn_worker_serve(run->group, syn_model_layout(run->model), &run->options.worker,
                            run->weights);
}

enum syn_status syn_train_prepare(const struct syn_train_options *options, struct syn_group *group,
                                  struct syn_run **run)
{
    struct syn_run *made = calloc(1, sizeof *made);
    if (!made)
        return syn_report(SYN_MEMORY, "cannot allocate a run");
    enum syn_status status = syn_run_open(options, group, made);
    if (status != SYN_OK) {
        syn_group_leave(group, status, syn_error_text());
        syn_run_close(made);
        free(made);
        return status;
    }
    *run = made;
    return SYN_OK;
}

enum syn_status syn_train_go(struct syn_run *run, const struct syn_train_watch *watch,
                             struct syn_train_summary *summary)
{
    if (watch)
        run->watch = *watch;
    bool serves = syn_run_serves(run);
    enum syn_status status = serves ? serve(run, summary) : syn_run_join(run);
    if (status == SYN_OK && !serves)
        status = loop(run);
    if (status == SYN_OK && !serves)
        status = finish(run, summary);
    if (status != SYN_OK && run->update.worker)
        syn_worker_abandon(run->update.worker, status, syn_error_text());
    syn_run_close(run);
    free(run);
    return status;
}

/* The training loop: a batch, its gradient, the next weights, until the last step or until told
 * to stop. It is the same for one worker and for many; what differs between them lies behind
 * syn_update_step(). */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "engine/base/clock.h"
#include "engine/base/fail.h"
#include "engine/train/loop/loop.h"
#include "engine/train/options/options.h"
#include "engine/train/replica/batches.h"
#include "engine/train/replica/gather.h"
#include "engine/train/replica/gradient.h"
#include "engine/train/train.h"

/* When a checkpoint is written. */
enum moment { AT_START, IN_BETWEEN, AT_END };

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
    int64_t began = syn_engine_clock_ns();
    run->told[tensor] = true;
    run->told_count++;
    enum syn_status status = syn_worker_ready(run->update.worker, tensor);
    run->handed_ns += syn_engine_clock_ns() - began;
    return status;
}

static enum syn_status differentiate(struct syn_run *run, const struct syn_examples *examples,
                                     const struct syn_rates *rates, struct syn_step_result *result)
{
    struct syn_ready_hook hook = {tell_ready, run};
    run->handed_ns = 0;
    run->told_count = 0;
    if (examples->count == 0) { /* a share that ends earlier than the others' */
        memset(run->gradient, 0, run->params * sizeof *run->gradient);
        return SYN_OK;
    }
    if (!run->update.starts_early)
        return syn_model_step(run->model, run->weights, examples, NULL, run->gradient, result);
    int64_t began = syn_engine_clock_ns();
    memset(run->told, 0, syn_layout_count(syn_model_layout(run->model)) * sizeof *run->told);
    SYN_TRY(syn_worker_start(run->update.worker, run->gradient, rates));
    run->handed_ns = syn_engine_clock_ns() - began;
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
    examples.stop = run->stop.stops ? &run->stop : NULL;
    if (batch.index == 0)
        syn_model_restart(run->model, SYN_CARRY_TRAINING);
    SYN_TRY(differentiate(run, &examples, rates, &result));
    add_result(&record->result, &result);
    record->examples += run->on_text ? batch.labelled : batch.count;
    record->data_wait_ns += began - asked;
    record->compute_ns += syn_engine_clock_ns() - began - run->handed_ns;
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
    uint64_t place = syn_run_place(run);
    uint64_t places = syn_run_length(run).steps;
    double epoch = (double)place / (double)run->steps_per_epoch;
    double lr = syn_train_lr(&run->options, place, places, (double)run->steps_per_epoch);
    if (strcmp(worker->momentum_form, "none") == 0)
        lr /= 1 - worker->optimizer.momentum;
    if (syn_train_is_async(&run->options))
        lr /= (double)run->options.workers;
    return (struct syn_rates){.lr = lr > 1e-12 ? lr : 1e-12,
                              .density = syn_train_density(&run->options, epoch)};
}

/* What a worker that is to end at once hands over instead of the gradient that it gave up: what
 * tells the others that this step does not happen, or nothing. Tensors that are handed over
 * already are the library's. */
static enum syn_status give_up(struct syn_run *run)
{
    const struct syn_layout *layout = syn_model_layout(run->model);
    float nothing = syn_run_can_undo(run) ? NAN : 0;
    run->was_cut = true;
    syn_run_undo(run);
    for (size_t t = 0; t < syn_layout_count(layout); t++) {
        struct syn_tensor tensor = syn_layout_tensor(layout, t);
        if (run->update.starts_early && run->told[t])
            continue;
        for (size_t i = 0; i < tensor.count; i++)
            run->gradient[tensor.offset + i] = nothing;
        if (run->update.starts_early)
            SYN_TRY(tell_ready(run, t));
    }
    return SYN_OK;
}

enum syn_status syn_run_step(struct syn_run *run)
{
    struct syn_step_record record = {0};
    struct syn_rates rates = rates_of(run);
    record.lr = rates.lr;
    syn_run_remember(run);
    enum syn_status status = compute(run, &rates, &record);
    if (status == SYN_STOPPED) {
        SYN_TRY(give_up(run));
        if (syn_train_is_async(&run->options))
            return SYN_OK; /* nobody waits for it */
    } else if (status != SYN_OK) {
        return status;
    }
    int64_t began = syn_engine_clock_ns();
    record.gradient_norm = run->was_cut ? 0 : syn_gradient_norm(run->gradient, run->params);
    if (!isfinite(record.result.loss) || !isfinite(record.gradient_norm))
        return refuse_nonfinite(run, &record); /* the others are told why this worker leaves */
    status = syn_update_step(&run->update, &rates, run->gradient, run->weights);
    if (status == SYN_NONFINITE && run->stop.stops)
        return syn_run_hear_of_cut(run);
    SYN_TRY(status);
    record.update_ns = syn_engine_clock_ns() - began + run->handed_ns;
    syn_meter_add(&run->lately, &record);
    run->step++;
    return SYN_OK;
}

/* An evaluation may be due after every epoch, which steps count only as long as the number of
 * workers stays. */
static bool is_judging_due(const struct syn_run *run)
{
    uint64_t every = run->options.eval_every;
    bool ends_epoch = syn_run_place(run) % run->steps_per_epoch == 0;
    bool due = run->step == run->steps || (every ? run->step % every == 0 : ends_epoch);
    bool done = run->judged_step == run->step || run->step == 0;
    return run->judging && due && !done;
}

static enum syn_status judge_if_due(struct syn_run *run)
{
    return is_judging_due(run) && !run->stopped ? syn_run_judge(run) : SYN_OK;
}

/* A checkpoint that cannot be had: at the start the run is refused, in its middle it goes on, at
 * the end its result is lost. */
static enum syn_status save(struct syn_run *run, enum moment moment)
{
    bool written;
    if (run->options.no_exchange) /* nothing that anybody would go on from */
        return SYN_OK;
    SYN_TRY(syn_checkpoint_write(run, &written));
    run->wants_save = false;
    run->saved_ns = syn_engine_clock_ns();
    if (written)
        return SYN_OK;
    run->is_lost = moment == AT_END;
    if (run->rank > 0)
        return moment == AT_START ? SYN_IO : SYN_OK;
    if (moment == AT_START)
        return syn_report(SYN_IO, "out: checkpoints cannot be written to %s", run->files.out);
    if (moment == IN_BETWEEN)
        syn_report_log(SYN_LOG_WARNING,
                       "there is no checkpoint of step %llu; earlier ones are as they were",
                       (unsigned long long)run->step);
    return SYN_OK;
}

static bool is_due(const struct syn_run *run, uint64_t every)
{
    return run->step == run->steps || (every > 0 && run->step % every == 0);
}

static bool is_saving_due(const struct syn_run *run)
{
    return run->options.checkpoint_every > 0 && run->step % run->options.checkpoint_every == 0;
}

/* What is due between two steps. All workers do the same here, in the same order; asynchronous
 * ones, who are at other steps meanwhile, ask first of all, so that one that gave a step up can
 * join them. */
static enum syn_status do_what_is_due(struct syn_run *run)
{
    bool is_logging_due = is_due(run, run->options.log_every);
    bool meets = is_logging_due || is_saving_due(run) || is_judging_due(run);
    SYN_TRY(syn_run_ask_to_stop(run, meets));
    if (is_logging_due || run->stopped) {
        SYN_TRY(syn_run_agree(run));
        if (run->lately.steps > 0)
            syn_run_log(run);
    }
    SYN_TRY(judge_if_due(run));
    if ((is_saving_due(run) || run->wants_save) && !run->stopped)
        SYN_TRY(save(run, IN_BETWEEN));
    return SYN_OK;
}

static enum syn_status loop(struct syn_run *run)
{
    if (run->options.checkpoint_every > 0)
        SYN_TRY(save(run, AT_START));
    SYN_TRY(judge_if_due(run)); /* if the run was stopped before it had been done */
    run->asked_ns = syn_engine_clock_ns();
    run->saved_ns = run->asked_ns;
    run->asked_at = run->step;
    while (run->step < run->steps && !run->stopped) {
        SYN_TRY(syn_run_step(run));
        syn_run_tell(run, -1);
        SYN_TRY(do_what_is_due(run));
    }
    if (run->is_asking)
        SYN_TRY(syn_worker_hear(run->update.worker)); /* too late to count */
    SYN_TRY(save(run, AT_END));
    return syn_worker_settle(run->update.worker, run->global);
}

static enum syn_status finish(struct syn_run *run, struct syn_train_summary *summary)
{
    struct syn_train_summary made = syn_run_summary(run);
    if (run->rank == 0 && !run->is_lost)
        SYN_TRY(syn_files_finish(&run->files, &made));
    *summary = made;
    return SYN_OK;
}

/* All workers have come to the end together and know it, so that nobody has to be told; the last
 * line that is said is the one that matters. */
static enum syn_status tell_loss(const struct syn_train_summary *summary)
{
    if (!summary->is_first)
        return SYN_IO;
    return syn_report(SYN_IO, "the weights of step %llu could not be saved in %s",
                      (unsigned long long)summary->steps, summary->out);
}

/* A server has nothing to tell: worker 0 speaks for all. */
static enum syn_status serve(struct syn_run *run, struct syn_train_summary *summary)
{
    memset(summary, 0, sizeof *summary);
    if (run->options.resume[0])
        SYN_TRY(syn_talk_attend(run->group)); /* the workers agree on where to begin */
    return syn_worker_serve(run->group, syn_model_layout(run->model), &run->options.worker,
                            run->weights);
}

enum syn_status syn_train_prepare(const struct syn_train_options *options, struct syn_group *group,
                                  struct syn_run **run)
{
    struct syn_run *made = calloc(1, sizeof *made);
    if (!made)
        return syn_report(SYN_MEMORY, "cannot allocate a run");
    enum syn_status status = syn_run_meet(group, syn_run_open(options, group, made));
    if (status == SYN_OK)
        status = syn_run_compare(made);
    if (status == SYN_OK)
        status = syn_run_meet(group, syn_run_prepare(made));
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
    syn_run_arm(run);
    bool serves = syn_run_serves(run);
    enum syn_status status = syn_run_choose(run);
    if (status == SYN_OK)
        status = serves ? serve(run, summary) : syn_run_join(run);
    if (status == SYN_OK && !serves)
        status = loop(run);
    if (status == SYN_OK && !serves)
        status = finish(run, summary);
    if (status != SYN_OK && run->update.worker)
        syn_worker_abandon(run->update.worker, status, syn_error_text());
    else if (status != SYN_OK)
        syn_group_leave(run->group, status, syn_error_text());
    bool is_lost = status == SYN_OK && run->is_lost;
    syn_run_close(run);
    free(run);
    return is_lost ? tell_loss(summary) : status;
}

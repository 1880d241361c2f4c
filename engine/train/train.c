/* The training loop: a batch, its gradient, the next weights, until the last step or until told
 * to stop. It is the same for one worker and for many; what differs between them lies behind
 * syn_update_step(). */
#include <math.h>
#include <stdlib.h>

#include "engine/base/clock.h"
#include "engine/base/fail.h"
#include "engine/train/feed.h"
#include "engine/train/gradient.h"
#include "engine/train/run.h"

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

/* Forward and backward on the next batch. */
static enum syn_status compute(struct syn_run *run, struct syn_step_record *record)
{
    struct syn_batch batch;
    int64_t asked = syn_engine_clock_ns();
    syn_loader_next(run->learning, &batch);
    int64_t began = syn_engine_clock_ns();
    struct syn_examples examples = syn_feed_examples(&batch, run->step);
    if (batch.index == 0)
        syn_model_restart(run->model, SYN_CARRY_TRAINING);
    SYN_TRY(
        syn_model_step(run->model, run->weights, &examples, NULL, run->gradient, &record->result));
    record->examples = run->on_text ? batch.labelled : batch.count;
    record->data_wait_ns = began - asked;
    record->compute_ns = syn_engine_clock_ns() - began;
    return SYN_OK;
}

static enum syn_status one_step(struct syn_run *run)
{
    const struct syn_train_options *options = &run->options;
    struct syn_step_record record = {0};
    record.lr = syn_train_lr(options, run->step, run->steps, (double)run->steps_per_epoch);
    SYN_TRY(compute(run, &record));
    int64_t began = syn_engine_clock_ns();
    record.gradient_norm = syn_gradient_norm(run->gradient, run->params);
    if (!isfinite(record.result.loss) || !isfinite(record.gradient_norm))
        return refuse_nonfinite(run, &record);
    double scale = syn_gradient_scale(record.gradient_norm, options->clip);
    SYN_TRY(syn_update_step(&run->update, record.lr, scale, run->gradient, run->weights));
    record.update_ns = syn_engine_clock_ns() - began;
    syn_meter_add(&run->lately, &record);
    syn_meter_add(&run->total, &record);
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
        if (is_due(run, options->log_every) || run->stopped)
            SYN_TRY(syn_run_log(run));
        if (run->judging && is_due(run, judge_every) && !run->stopped)
            SYN_TRY(syn_run_judge(run));
    }
    return SYN_OK;
}

static enum syn_status open_and_loop(const struct syn_train_options *options,
                                     const struct syn_train_watch *watch, struct syn_run *run,
                                     struct syn_train_summary *summary)
{
    SYN_TRY(syn_run_open(options, run));
    if (watch)
        run->watch = *watch;
    SYN_TRY(loop(run));
    struct syn_train_summary made = syn_run_summary(run);
    SYN_TRY(syn_files_finish(&run->files, &made));
    *summary = made;
    return SYN_OK;
}

enum syn_status syn_train(const struct syn_train_options *options,
                          const struct syn_train_watch *watch, struct syn_train_summary *summary)
{
    struct syn_run *run = calloc(1, sizeof *run);
    if (!run)
        return syn_report(SYN_MEMORY, "cannot allocate a run");
    enum syn_status status = open_and_loop(options, watch, run, summary);
    syn_run_close(run);
    free(run);
    return status;
}

/* Evaluation: once through the test part, each worker its share, with the global weights and the
 * mean of all workers' running statistics. */
#include <math.h>
#include <string.h>

#include "engine/base/fail.h"
#include "engine/train/loop/loop.h"
#include "engine/train/replica/batches.h"

static enum syn_status check_loss(const struct syn_run *run, double loss)
{
    if (isfinite(loss))
        return SYN_OK;
    return syn_report(SYN_NONFINITE, "step %llu: the loss in an evaluation is %g",
                      (unsigned long long)run->step, loss);
}

/* Put the mean of all workers' running statistics into the model, keeping its own aside. */
static enum syn_status average_statistics(struct syn_run *run)
{
    size_t count = syn_layout_size(syn_model_statistics_layout(run->model));
    size_t workers = run->options.workers;
    float *own = run->statistics;
    float *all = run->statistics + count;
    float *now = syn_model_statistics(run->model);
    if (count == 0)
        return SYN_OK;
    memcpy(own, now, count * sizeof *own);
    SYN_TRY(syn_worker_gather(run->update.worker, own, count * sizeof *own, all));
    for (size_t i = 0; i < count; i++) {
        float sum = 0;
        for (size_t w = 0; w < workers; w++)
            sum += all[w * count + i];
        now[i] = sum / (float)workers;
    }
    return SYN_OK;
}

static void restore_statistics(struct syn_run *run)
{
    size_t count = syn_layout_size(syn_model_statistics_layout(run->model));
    if (count > 0)
        memcpy(syn_model_statistics(run->model), run->statistics, count * sizeof(float));
}

/* This worker's share of a part. */
static enum syn_status judge_share(struct syn_run *run, struct syn_loader *loader,
                                   struct syn_meter *meter)
{
    uint64_t batches = syn_loader_batches(loader);
    syn_model_restart(run->model, SYN_CARRY_EVALUATION);
    run->told_count = 0;
    for (uint64_t i = 0; i < batches; i++) {
        struct syn_batch batch;
        struct syn_step_record record = {0};
        syn_loader_next(loader, &batch);
        struct syn_examples examples = syn_feed_examples(&batch, run->step);
        examples.stop = run->stop.stops ? &run->stop : NULL;
        if (batch.count > 0 && !run->has_no_stream)
            SYN_TRY(syn_model_evaluate(run->model, run->global, &examples, &record.result));
        syn_meter_add(meter, &record);
        syn_run_tell(run, (double)(i + 1) / (double)batches);
        if (run->wants_stop)
            return SYN_STOPPED;
    }
    return SYN_OK;
}

/* All of a part, by all workers; run->stopped if somebody was told to and has not seen all of its
 * share. */
static enum syn_status judge_part(struct syn_run *run, struct syn_loader *loader,
                                  struct syn_meter *all)
{
    struct syn_report own = {0};
    struct syn_loader_position begin = {0, 0};
    SYN_TRY(syn_loader_seek(loader, begin));
    enum syn_status status = judge_share(run, loader, &own.meter);
    if (status != SYN_STOPPED)
        SYN_TRY(status);
    own.is_good = status == SYN_OK;
    SYN_TRY(syn_worker_gather(run->update.worker, &own, sizeof own, run->reports));
    *all = run->reports[0].meter;
    for (size_t w = 0; w < run->options.workers; w++) {
        if (w > 0)
            syn_meter_join(all, &run->reports[w].meter);
        run->stopped = run->stopped || run->reports[w].is_good == 0;
    }
    return run->stopped ? SYN_OK : check_loss(run, syn_meter_loss(all));
}

/* The validation part decides which weights are the best; they are saved as soon as they are. */
static void keep_best(struct syn_run *run)
{
    double loss = syn_meter_loss(&run->validated);
    if (!run->validating || (run->best.step > 0 && loss >= run->best.loss))
        return;
    double epoch = (double)syn_run_place(run) / (double)run->steps_per_epoch;
    run->best = (struct syn_best){run->step, epoch, loss};
    run->wants_save = true;
}

enum syn_status syn_run_judge(struct syn_run *run)
{
    struct syn_meter judged = {0};
    struct syn_meter validated = {0};
    SYN_TRY(syn_worker_settle(run->update.worker, run->global));
    SYN_TRY(average_statistics(run));
    enum syn_status status = SYN_OK;
    if (run->validating)
        status = judge_part(run, run->validating, &validated);
    if (status == SYN_OK && !run->stopped)
        status = judge_part(run, run->judging, &judged);
    restore_statistics(run);
    SYN_TRY(status);
    if (run->stopped)
        return SYN_OK;
    run->judged = judged;
    run->validated = validated;
    run->judged_step = run->step;
    keep_best(run);
    syn_run_log_judged(run);
    return SYN_OK;
}

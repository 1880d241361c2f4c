/* Evaluation: once through the test part, each worker its share, with the global weights and the
 * mean of all workers' running statistics. */
#include <math.h>
#include <string.h>

#include "engine/base/fail.h"
#include "engine/train/feed.h"
#include "engine/train/run.h"

static enum syn_status check_loss(const struct syn_run *run, double loss)
{
    if (isfinite(loss))
        return SYN_OK;
    return syn_report(SYN_NONFINITE, "step %llu: the loss on the test part is %g",
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

/* This worker's share of the test part. */
static enum syn_status judge_share(struct syn_run *run, struct syn_meter *meter)
{
    uint64_t batches = syn_loader_batches(run->judging);
    syn_model_restart(run->model, SYN_CARRY_EVALUATION);
    run->told_count = 0;
    for (uint64_t i = 0; i < batches; i++) {
        struct syn_batch batch;
        struct syn_step_record record = {0};
        syn_loader_next(run->judging, &batch);
        struct syn_examples examples = syn_feed_examples(&batch, run->step);
        examples.stop = run->stop.stops ? &run->stop : NULL;
        if (batch.count > 0)
            SYN_TRY(syn_model_evaluate(run->model, run->global, &examples, &record.result));
        syn_meter_add(meter, &record);
        syn_run_tell(run, (double)(i + 1) / (double)batches);
        if (run->wants_stop)
            return SYN_STOPPED;
    }
    return SYN_OK;
}

enum syn_status syn_run_judge(struct syn_run *run)
{
    struct syn_report own = {0};
    SYN_TRY(syn_worker_settle(run->update.worker, run->global));
    SYN_TRY(average_statistics(run));
    enum syn_status status = judge_share(run, &own.meter);
    restore_statistics(run);
    if (status != SYN_STOPPED)
        SYN_TRY(status);
    own.is_good = status == SYN_OK;
    SYN_TRY(syn_worker_gather(run->update.worker, &own, sizeof own, run->reports));
    struct syn_meter all = run->reports[0].meter;
    for (size_t w = 0; w < run->options.workers; w++) {
        if (w > 0)
            syn_meter_join(&all, &run->reports[w].meter);
        run->stopped = run->stopped || run->reports[w].is_good == 0;
    }
    if (run->stopped) /* somebody was told to, and has not seen all of its share */
        return SYN_OK;
    SYN_TRY(check_loss(run, syn_meter_loss(&all)));
    run->judged = all;
    run->judged_step = run->step;
    syn_run_log_judged(run);
    return SYN_OK;
}

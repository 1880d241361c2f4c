/* Evaluation: once through the test part, with the weights as they are. */
#include <math.h>

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

enum syn_status syn_run_judge(struct syn_run *run)
{
    struct syn_meter meter = {0};
    uint64_t batches = syn_loader_batches(run->judging);
    syn_model_restart(run->model, SYN_CARRY_EVALUATION);
    for (uint64_t i = 0; i < batches; i++) {
        struct syn_batch batch;
        struct syn_step_record record = {0};
        syn_loader_next(run->judging, &batch);
        struct syn_examples examples = syn_feed_examples(&batch, run->step);
        SYN_TRY(syn_model_evaluate(run->model, run->weights, &examples, &record.result));
        syn_meter_add(&meter, &record);
        syn_run_tell(run, (double)(i + 1) / (double)batches);
        if (run->stopped)
            return SYN_OK;
    }
    SYN_TRY(check_loss(run, syn_meter_loss(&meter)));
    run->judged = meter;
    run->judged_step = run->step;
    return syn_run_log_judged(run);
}

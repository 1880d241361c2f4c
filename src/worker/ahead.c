/* carry with one step of delay, where the global optimizer is here. What carry learns from each
 * pull is then the optimizer's own momentum, exactly (local_carry.c), so its update is a step of
 * that optimizer with the worker's own gradient, tried out on the global weights:
 *
 *     x_{t+1} = W_{t-1} - lr * (mu*M_{t-1} + alpha*g_t + wd*W_{t-1})
 *
 * The worker needs neither weights nor a memory of its own, and the step that has arrived and the
 * one that is tried out share a pass: 7 arrays are read or written instead of 12. */
#include "worker/ahead.h"

#include <string.h>

#include "optim/optim.h"
#include "worker/delayed.h"
#include "worker/inside.h"

bool syn_ahead_suits(const struct syn_worker *worker)
{
    const struct syn_worker_options *options = &worker->options;
    return worker->schedule->is_delayed && !worker->schedule->has_period &&
           worker->local->follows_optimizer && options->lr_local == 0 &&
           options->reducer.residual_momentum == 0 && worker->store_type->tries &&
           syn_optimizer_can_try(&options->optimizer);
}

enum syn_status syn_ahead_step(struct syn_worker *worker, const float *gradient,
                               const struct syn_rates *rates, float *weights)
{
    struct syn_plan plan = worker->schedule->plan(&worker->options, worker->steps);
    if (plan.blocks)
        return syn_worker_step_promptly(worker, gradient, rates, weights);
    struct syn_trial trial = {.gradient = gradient,
                              .lr = rates->lr,
                              .scale =
                                  syn_delayed_alpha(worker) * syn_delayed_clip(worker, gradient),
                              .weights = weights};
    const float *arrived;
    SYN_TRY(syn_worker_take_and_try(worker, &trial, &arrived));
    if (!trial.is_finite) /* will be detected later; until then it is skipped */
        memcpy(weights, arrived, worker->size * sizeof *weights);
    return syn_worker_contribute(worker, gradient, rates, plan.pulls);
}

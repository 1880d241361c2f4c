/* A step: take the weights that have arrived, contribute the gradient, continue. With W_t the
 * global weights after step t, v the worker's own and x_t the ones its gradient g_t was computed
 * at:
 *
 *     pulled W_{t-1}?  v = W_{t-1}
 *     push g_t
 *     blocking:        x_{t+1} = v = W_t
 *     otherwise:       x_{t+1} = v = LocalUpdate(v, g_t)
 *
 * Synchronous SGD blocks at every step, one-step delay pulls at every step and never blocks,
 * several steps' delay pulls at every k-th; the schedule decides. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/memory.h"
#include "exchange/exchange.h"
#include "exchange/norm.h"
#include "reducer/lag.h"
#include "transport/transport.h"
#include "worker/ahead.h"
#include "worker/delayed.h"
#include "worker/inside.h"
#include "worker/options.h"

void syn_worker_close(struct syn_worker *worker)
{
    if (!worker)
        return;
    if (worker->reducer && worker->store_type->leave)
        worker->store_type->leave(worker->store);
    syn_reducer_close(worker->reducer);
    if (worker->store)
        worker->store_type->close(worker->store);
    free(worker->v);
    free(worker->memory);
    free(worker->snapshots[0]);
    free(worker->snapshots[1]);
    free(worker->global_mean);
    syn_inner_close(worker->inner);
    syn_fitting_close(worker->fitting);
    syn_trained_close(worker->trained);
    syn_group_depart(worker->group);
    free(worker);
}

static enum syn_status open_parts(struct syn_worker *worker, const struct syn_layout *layout,
                                  const float *weights)
{
    struct syn_worker_options options = syn_inner_store_options(&worker->options);
    struct syn_store_setup setup = {
        .group = worker->group, .layout = layout, .options = &options, .weights = weights};
    if (worker->schedule->is_delayed || worker->schedule->is_local)
        SYN_TRY(syn_delayed_open(worker, weights));
    if (worker->schedule->is_local)
        SYN_TRY(syn_inner_open(worker, layout, &worker->inner));
    SYN_TRY(syn_fitting_open(worker, &worker->fitting));
    SYN_TRY(worker->store_type->open(&setup, &worker->store));
    return syn_worker_open_road(worker, layout);
}

/* Continue without frozen tensors. */
static enum syn_status leave_out_frozen(struct syn_worker *worker, const struct syn_layout **layout,
                                        const float **weights)
{
    SYN_TRY(syn_trained_open(*layout, *weights, &worker->trained));
    if (worker->trained) {
        *layout = syn_trained_tensors(worker->trained);
        *weights = syn_trained_weights(worker->trained);
    }
    worker->size = syn_layout_size(*layout);
    return SYN_OK;
}

static enum syn_status resolve(struct syn_worker *worker, const struct syn_layout *layout,
                               const float *weights)
{
    struct syn_group *group = worker->group;
    if (syn_group_rank(group) >= syn_group_workers(group))
        return syn_fail(SYN_INVALID, "%s does not train; it must call syn_worker_serve()",
                        syn_group_name(group, group->rank).text);
    SYN_TRY(syn_worker_resolve(&worker->options, syn_group_servers(group), &worker->momentum));
    return syn_worker_check_consistency(group, layout, &worker->options, weights);
}

enum syn_status syn_worker_open(struct syn_group *group, const struct syn_layout *layout,
                                const struct syn_worker_options *options, const float *weights,
                                struct syn_worker **worker)
{
    struct syn_worker *made = NULL;
    enum syn_status status = syn_allocate(1, sizeof *made, &made);
    if (status == SYN_OK) {
        syn_group_enter(group);
        made->group = group;
        made->options = *options;
        status = leave_out_frozen(made, &layout, &weights);
    }
    if (status == SYN_OK) {
        status = resolve(made, layout, weights);
    }
    if (status == SYN_OK) {
        made->store_type = syn_store_find(made->options.store);
        made->schedule = syn_schedule_find(made->options.schedule);
        made->local = syn_local_find(made->options.optimizer_local);
        made->looks_ahead = syn_ahead_suits(made);
        status = open_parts(made, layout, weights);
    }
    if (status != SYN_OK) {
        syn_worker_close(made);
        syn_group_abandon(group, status, syn_error_text());
        return status;
    }
    *worker = made;
    return SYN_OK;
}

/* The worker's own weights include gradients that the global ones never will. */
enum syn_status syn_worker_recover(struct syn_worker *worker, enum syn_status status,
                                   float *weights)
{
    char cause[SYN_ERROR_BYTES];
    const float *global = worker->v;
    if (status != SYN_NONFINITE || !syn_worker_is_late(worker))
        return status;
    memcpy(cause, syn_error_text(), strlen(syn_error_text()) + 1);
    if (worker->v)
        SYN_TRY(syn_worker_collect_all(worker, worker->v));
    else
        SYN_TRY(syn_worker_pull(worker, &global));
    syn_worker_restart(worker, global, worker->steps);
    if (weights)
        memcpy(weights, global, worker->size * sizeof *weights);
    return syn_fail_again(status, cause);
}

static enum syn_status check_rates(const struct syn_rates *rates)
{
    if (rates->lr > 0 && rates->lr < 1e30)
        return SYN_OK;
    return syn_fail(SYN_INVALID, "learning rate %g; expected a number above 0", rates->lr);
}

static enum syn_status local_step(struct syn_worker *worker, const float *gradient,
                                  const struct syn_rates *rates, float *weights)
{
    SYN_TRY(syn_inner_step(worker, gradient, rates));
    memcpy(weights, worker->v, worker->size * sizeof *weights);
    return SYN_OK;
}

static void add_to_total(struct syn_worker *worker)
{
    syn_cost_add(&worker->total, &worker->cost);
    worker->cost = (struct syn_cost){0};
}

static enum syn_status step(struct syn_worker *worker, const float *gradient,
                            const struct syn_rates *rates, float *weights)
{
    struct syn_rates own = *rates;
    SYN_TRY(check_rates(rates));
    SYN_TRY(syn_fitting_begin(worker, &own));
    enum syn_status status = worker->inner         ? local_step(worker, gradient, &own, weights)
                             : worker->looks_ahead ? syn_ahead_step(worker, gradient, &own, weights)
                             : worker->schedule->is_delayed
                                 ? syn_delayed_step(worker, gradient, &own, weights)
                                 : syn_worker_step_promptly(worker, gradient, &own, weights);
    if (status != SYN_OK)
        return syn_worker_recover(worker, status, weights);
    worker->steps++;
    worker->last = worker->cost;
    add_to_total(worker);
    syn_fitting_end(worker, &worker->last);
    return SYN_OK;
}

/* Hand out the weights, with those of frozen tensors, if the call has written them. */
static enum syn_status hand_out(const struct syn_worker *worker, enum syn_status status,
                                float *weights)
{
    if (status == SYN_OK || (status == SYN_NONFINITE && syn_worker_is_late(worker)))
        syn_trained_hand_out(worker->trained, weights);
    return status;
}

enum syn_status syn_worker_step(struct syn_worker *worker, const float *gradient,
                                const struct syn_rates *rates, float *weights)
{
    struct syn_trained *trained = worker->trained;
    if (!trained)
        return step(worker, gradient, rates, weights);
    return hand_out(
        worker,
        step(worker, syn_trained_gradient(trained, gradient), rates, syn_trained_weights(trained)),
        weights);
}

struct syn_form syn_worker_form(const struct syn_worker *worker)
{
    struct syn_form form = worker->form;
    form.is_everything = form.values && form.density == 1 && syn_value_find(form.values)->is_exact;
    return form;
}

enum syn_status syn_worker_start(struct syn_worker *worker, const float *gradient,
                                 const struct syn_rates *rates)
{
    SYN_TRY(check_rates(rates));
    return syn_worker_announce(worker, gradient, rates);
}

static enum syn_status settle(struct syn_worker *worker, float *weights)
{
    enum syn_status status = syn_worker_collect_all(worker, weights);
    if (status != SYN_OK)
        return syn_worker_recover(worker, status, weights);
    add_to_total(worker);
    return SYN_OK;
}

enum syn_status syn_worker_settle(struct syn_worker *worker, float *weights)
{
    if (!worker->trained)
        return settle(worker, weights);
    return hand_out(worker, settle(worker, syn_trained_weights(worker->trained)), weights);
}

struct syn_cost syn_worker_last_cost(const struct syn_worker *worker)
{
    return worker->last;
}

struct syn_cost syn_worker_total_cost(const struct syn_worker *worker)
{
    return worker->total;
}

uint64_t syn_worker_steps(const struct syn_worker *worker)
{
    return worker->steps;
}

const float *syn_worker_residual(const struct syn_worker *worker)
{
    syn_reducer_settle(worker->reducer);
    const float *residual = syn_reducer_residual(worker->reducer);
    return residual && worker->trained ? syn_trained_spread(worker->trained, residual) : residual;
}

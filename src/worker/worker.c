/* A step: take what has arrived, hand over the gradient, move on. With W_t the global weights after
 * step t, v the worker's own and x_t the ones its gradient g_t was computed at:
 *
 *     pulled W_{t-1}?  v = W_{t-1}
 *     push g_t
 *     blocking:        x_{t+1} = v = W_t
 *     otherwise:       x_{t+1} = v = LocalUpdate(v, g_t)
 *
 * Synchronous SGD blocks at every step, one-step delay pulls at every step and never blocks,
 * several steps' delay pulls at every k-th; the schedule says which. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/memory.h"
#include "exchange/exchange.h"
#include "exchange/norm.h"
#include "reducer/lag.h"
#include "transport/transport.h"
#include "worker/clip.h"
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
    syn_group_depart(worker->group);
    free(worker);
}

/* Remember the global weights after `steps` steps, as far as the local update looks back. */
static void take_snapshot(struct syn_worker *worker, const float *weights, uint64_t steps)
{
    worker->snapshot_steps[1] = worker->snapshot_steps[0];
    worker->snapshot_steps[0] = steps;
    worker->between = worker->since;
    worker->since = syn_local_path_start();
    if (worker->local->snapshots == 0)
        return;
    if (worker->local->snapshots == 2) {
        float *oldest = worker->snapshots[1];
        worker->snapshots[1] = worker->snapshots[0];
        worker->snapshots[0] = oldest;
    }
    memcpy(worker->snapshots[0], weights, worker->size * sizeof(float));
    worker->snapshot_count += worker->snapshot_count < 2;
    worker->is_mean_stale = true;
}

void syn_worker_restart(struct syn_worker *worker, const float *weights, uint64_t steps)
{
    if (worker->v != weights)
        memcpy(worker->v, weights, worker->size * sizeof(float));
    if (worker->memory)
        memset(worker->memory, 0, worker->size * sizeof(float));
    worker->snapshot_count = 0;
    worker->is_pull_open = false;
    take_snapshot(worker, weights, steps);
    if (worker->inner)
        syn_inner_restart(worker->inner, worker->v);
}

static enum syn_status open_local(struct syn_worker *worker, const float *weights)
{
    size_t size = worker->size;
    SYN_TRY(syn_allocate(size, sizeof(float), &worker->v));
    if (worker->local->memory > 0)
        SYN_TRY(syn_allocate(size, sizeof(float), &worker->memory));
    for (size_t i = 0; i < worker->local->snapshots; i++)
        SYN_TRY(syn_allocate(size, sizeof(float), &worker->snapshots[i]));
    if (worker->local->snapshots == 2)
        SYN_TRY(syn_allocate(size, sizeof(float), &worker->global_mean));
    syn_worker_restart(worker, weights, 0);
    return SYN_OK;
}

static enum syn_status open_parts(struct syn_worker *worker, const struct syn_layout *layout,
                                  const float *weights)
{
    struct syn_worker_options options = syn_inner_store_options(&worker->options);
    struct syn_store_setup setup = {
        .group = worker->group, .layout = layout, .options = &options, .weights = weights};
    if (worker->schedule->is_delayed || worker->schedule->is_local)
        SYN_TRY(open_local(worker, weights));
    if (worker->schedule->is_local)
        SYN_TRY(syn_inner_open(worker, layout, &worker->inner));
    SYN_TRY(syn_fitting_open(worker, &worker->fitting));
    SYN_TRY(worker->store_type->open(&setup, &worker->store));
    return syn_worker_open_road(worker, layout);
}

static enum syn_status resolve(struct syn_worker *worker, const struct syn_layout *layout,
                               const float *weights)
{
    struct syn_group *group = worker->group;
    if (syn_group_rank(group) >= syn_group_workers(group))
        return syn_fail(SYN_INVALID, "%s does not train; it calls syn_worker_serve()",
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
        made->size = syn_layout_size(layout);
        status = resolve(made, layout, weights);
    }
    if (status == SYN_OK) {
        made->store_type = syn_store_find(made->options.store);
        made->schedule = syn_schedule_find(made->options.schedule);
        made->local = syn_local_find(made->options.optimizer_local);
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

/* The own weights have seen gradients that the global ones never will. */
enum syn_status syn_worker_recover(struct syn_worker *worker, enum syn_status status,
                                   float *weights)
{
    char cause[SYN_ERROR_BYTES];
    if (status != SYN_NONFINITE || !worker->v)
        return status;
    memcpy(cause, syn_error_text(), strlen(syn_error_text()) + 1);
    SYN_TRY(syn_worker_collect_all(worker, worker->v));
    syn_worker_restart(worker, worker->v, worker->steps);
    if (weights)
        memcpy(weights, worker->v, worker->size * sizeof *weights);
    return syn_fail_again(status, cause);
}

/* What the last two snapshots betray of the global gradient; NULL before there are two. */
static const float *global_mean(struct syn_worker *worker)
{
    if (!worker->global_mean || worker->snapshot_count < 2)
        return NULL;
    if (worker->is_mean_stale) {
        syn_global_mean(&worker->between, worker->momentum, worker->snapshots[1],
                        worker->snapshots[0], worker->global_mean, worker->size);
        worker->is_mean_stale = false;
    }
    return worker->global_mean;
}

static double local_lr(const struct syn_worker *worker, double lr)
{
    double own = worker->options.lr_local;
    return lr * (own > 0 ? own : (double)worker->local->usual_lr / (1 - worker->momentum));
}

static struct syn_local_rates local_rates(struct syn_worker *worker, double lr)
{
    const struct syn_worker_options *options = &worker->options;
    const struct syn_local_type *local = worker->local;
    return (struct syn_local_rates){
        .lr = (float)local_lr(worker, lr),
        .weight_decay = (float)options->optimizer.weight_decay,
        .momentum = (float)options->momentum_local,
        .global_momentum = (float)worker->momentum,
        .lambda = options->lambda > 0 ? (float)options->lambda : local->usual_lambda,
        .mean_square = (float)options->mean_square,
        .alpha = (float)options->alpha,
        .beta = (float)options->beta,
        .snapshot = worker->snapshots[0],
        .global_mean = global_mean(worker),
    };
}

/* As long as the mean gradient may be that it stands for. */
static float clip_own(const struct syn_worker *worker, const float *gradient)
{
    double own = syn_clip_own(&worker->options, syn_group_workers(worker->group));
    double longest = own > 0 ? own : worker->options.clip;
    if (longest == 0)
        return 1;
    return (float)syn_norm_scale(sqrt(syn_norm_square(gradient, worker->size)), longest);
}

/* Update with a scaled gradient, a block of it at a time. */
static void update_scaled(struct syn_worker *worker, struct syn_local_rates rates,
                          const float *gradient, float scale)
{
    enum { BLOCK = 1024 };
    float scaled[BLOCK];
    for (size_t at = 0; at < worker->size; at += BLOCK) {
        size_t count = worker->size - at < BLOCK ? worker->size - at : BLOCK;
        for (size_t i = 0; i < count; i++)
            scaled[i] = scale * gradient[at + i];
        worker->local->update(&rates, worker->v + at, scaled,
                              worker->memory ? worker->memory + at : NULL, count);
        rates.snapshot += rates.snapshot ? count : 0;
        rates.global_mean += rates.global_mean ? count : 0;
    }
}

/* A gradient that is not finite will be found later; until then the own weights do without. */
static void update_locally(struct syn_worker *worker, const float *gradient, double lr)
{
    if (syn_first_not_finite(gradient, worker->size) < worker->size)
        return;
    struct syn_local_rates rates = local_rates(worker, lr);
    float scale = clip_own(worker, gradient);
    if (scale == 1)
        worker->local->update(&rates, worker->v, gradient, worker->memory, worker->size);
    else
        update_scaled(worker, rates, gradient, scale);
}

/* The global weights after `steps` steps are here: go on from them. */
static void adopt(struct syn_worker *worker, const float *weights, uint64_t steps)
{
    if (worker->local->correct)
        worker->local->correct(&worker->since, worker->v, weights, worker->memory, worker->size);
    memcpy(worker->v, weights, worker->size * sizeof(float));
    take_snapshot(worker, weights, steps);
}

/* Weights that everyone should have are compared now and then. */
static enum syn_status compare_now_and_then(struct syn_worker *worker, const float *weights)
{
    uint64_t every = worker->options.compare_every;
    if (every == 0 || worker->steps - worker->compared < every)
        return SYN_OK;
    worker->compared = worker->steps;
    return syn_worker_compare(worker, weights);
}

enum syn_status syn_worker_take(struct syn_worker *worker, const float **weights)
{
    SYN_TRY(syn_worker_pull(worker, weights));
    return compare_now_and_then(worker, *weights);
}

static enum syn_status delayed_step(struct syn_worker *worker, const float *gradient,
                                    const struct syn_rates *rates)
{
    struct syn_plan plan = worker->schedule->plan(&worker->options, worker->steps);
    const float *arrived;
    if (worker->is_pull_open) {
        SYN_TRY(syn_worker_take(worker, &arrived));
        adopt(worker, arrived, worker->steps);
        worker->is_pull_open = false;
    }
    SYN_TRY(syn_worker_contribute(worker, gradient, rates, plan.pulls));
    syn_local_path_add(&worker->since, rates->lr, local_lr(worker, rates->lr),
                       worker->options.optimizer.weight_decay, worker->momentum);
    bool learns_from_pulls = worker->local->correct != NULL; /* so there has to be a guess */
    if (!plan.blocks || learns_from_pulls)
        update_locally(worker, gradient, rates->lr);
    if (plan.blocks) {
        SYN_TRY(syn_worker_take(worker, &arrived));
        adopt(worker, arrived, worker->steps + 1);
    } else {
        worker->is_pull_open = plan.pulls;
    }
    return SYN_OK;
}

static enum syn_status check_rates(const struct syn_rates *rates)
{
    if (rates->lr > 0 && rates->lr < 1e30)
        return SYN_OK;
    return syn_fail(SYN_INVALID, "learning rate %g; expected one above 0", rates->lr);
}

static enum syn_status prompt_step(struct syn_worker *worker, const float *gradient,
                                   const struct syn_rates *rates, const float **next)
{
    SYN_TRY(syn_worker_contribute(worker, gradient, rates, true));
    return syn_worker_take(worker, next);
}

static void add_to_total(struct syn_worker *worker)
{
    syn_cost_add(&worker->total, &worker->cost);
    worker->cost = (struct syn_cost){0};
}

enum syn_status syn_worker_step(struct syn_worker *worker, const float *gradient,
                                const struct syn_rates *rates, float *weights)
{
    struct syn_rates own = *rates;
    const float *next = worker->v;
    SYN_TRY(check_rates(rates));
    SYN_TRY(syn_fitting_begin(worker, &own));
    enum syn_status status = worker->inner ? syn_inner_step(worker, gradient, &own)
                             : worker->schedule->is_delayed
                                 ? delayed_step(worker, gradient, &own)
                                 : prompt_step(worker, gradient, &own, &next);
    if (status != SYN_OK)
        return syn_worker_recover(worker, status, weights);
    memcpy(weights, next, worker->size * sizeof *weights);
    worker->steps++;
    worker->last = worker->cost;
    add_to_total(worker);
    syn_fitting_end(worker, &worker->last);
    return SYN_OK;
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

enum syn_status syn_worker_settle(struct syn_worker *worker, float *weights)
{
    enum syn_status status = syn_worker_collect_all(worker, weights);
    if (status != SYN_OK)
        return syn_worker_recover(worker, status, weights);
    add_to_total(worker);
    return SYN_OK;
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
    return syn_reducer_residual(worker->reducer);
}

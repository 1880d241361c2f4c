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
    syn_trained_close(worker->trained);
    syn_group_depart(worker->group);
    free(worker);
}

/* Remember the global weights after `steps` steps, as many snapshots as the local update uses. */
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
    if (status != SYN_NONFINITE || !worker->v)
        return status;
    memcpy(cause, syn_error_text(), strlen(syn_error_text()) + 1);
    SYN_TRY(syn_worker_collect_all(worker, worker->v));
    syn_worker_restart(worker, worker->v, worker->steps);
    if (weights)
        memcpy(weights, worker->v, worker->size * sizeof *weights);
    return syn_fail_again(status, cause);
}

/* The global gradient derived from the last two snapshots; NULL until there are two. */
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

enum { MOVE_BLOCK = 1024 };

/* What happens to the worker's own weights. */
struct move {
    const float *arrived;       /* global weights to continue from; NULL: none */
    struct syn_local_path path; /* since the previous ones */
    const float *gradient;      /* to move by; NULL: stay */
    struct syn_local_rates rates;
    float scale; /* of the gradient */
};

/* Clip it as the mean gradient, which it replaces, would be clipped. */
static float clip_own(const struct syn_worker *worker, const float *gradient)
{
    double own = syn_clip_own(&worker->options, syn_group_workers(worker->group));
    double longest = own > 0 ? own : worker->options.clip;
    if (longest == 0)
        return 1;
    return (float)syn_norm_scale(sqrt(syn_norm_square(gradient, worker->size)), longest);
}

/* A block of the worker's own weights is set to what has arrived, then moved by its own
 * gradient. */
static void move_block(struct syn_worker *worker, const struct move *move, size_t at, size_t count)
{
    float scaled[MOVE_BLOCK];
    float *v = worker->v + at;
    float *memory = worker->memory ? worker->memory + at : NULL;
    if (move->arrived) {
        if (worker->local->correct)
            worker->local->correct(&move->path, v, move->arrived + at, memory, count);
        memcpy(v, move->arrived + at, count * sizeof *v);
    }
    if (!move->gradient)
        return;
    struct syn_local_rates rates = move->rates;
    const float *gradient = move->gradient + at;
    rates.snapshot += rates.snapshot ? at : 0;
    rates.global_mean += rates.global_mean ? at : 0;
    for (size_t i = 0; move->scale != 1 && i < count; i++)
        scaled[i] = move->scale * gradient[i];
    worker->local->update(&rates, v, move->scale == 1 ? gradient : scaled, memory, count);
}

/* All changes of the worker's own weights in a step, block by block, so that each array is read and
 * written once: with a model that does not fit into the caches, every pass waits for memory.
 *   weights  for the caller, or NULL */
static void move_own(struct syn_worker *worker, const struct move *move, float *weights)
{
    for (size_t at = 0; at < worker->size; at += MOVE_BLOCK) {
        size_t left = worker->size - at;
        size_t count = left < MOVE_BLOCK ? left : MOVE_BLOCK;
        move_block(worker, move, at, count);
        if (weights)
            memcpy(weights + at, worker->v + at, count * sizeof *weights);
    }
}

/* The global weights after `steps` steps have arrived: continue from them, at once if the next
 * contribution may overwrite them. */
static void arrive(struct syn_worker *worker, const float *weights, uint64_t steps,
                   struct move *move)
{
    move->arrived = weights;
    move->path = worker->since;
    take_snapshot(worker, weights, steps);
    if (worker->store_type->pulled_stays)
        return;
    move_own(worker, move, NULL);
    move->arrived = NULL;
}

/* A gradient that is not finite will be detected later; until then the worker's own weights skip
 * it. */
static void depart(struct syn_worker *worker, const float *gradient, double lr, struct move *move)
{
    if (syn_first_not_finite(gradient, worker->size) < worker->size)
        return;
    move->gradient = gradient;
    move->rates = local_rates(worker, lr);
    move->scale = clip_own(worker, gradient);
}

/* Weights that should be the same on all workers are compared from time to time. */
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
                                    const struct syn_rates *rates, float *weights)
{
    struct syn_plan plan = worker->schedule->plan(&worker->options, worker->steps);
    struct move move = {0};
    const float *arrived;
    if (worker->is_pull_open) {
        SYN_TRY(syn_worker_take(worker, &arrived));
        arrive(worker, arrived, worker->steps, &move);
        worker->is_pull_open = false;
    }
    SYN_TRY(syn_worker_contribute(worker, gradient, rates, plan.pulls));
    syn_local_path_add(&worker->since, rates->lr, local_lr(worker, rates->lr),
                       worker->options.optimizer.weight_decay, worker->momentum);
    bool learns_from_pulls = worker->local->correct != NULL; /* so there must be an estimate */
    if (!plan.blocks || learns_from_pulls)
        depart(worker, gradient, rates->lr, &move);
    move_own(worker, &move, plan.blocks ? NULL : weights);
    worker->is_pull_open = plan.pulls && !plan.blocks;
    if (!plan.blocks)
        return SYN_OK;
    struct move back = {0};
    SYN_TRY(syn_worker_take(worker, &arrived));
    arrive(worker, arrived, worker->steps + 1, &back);
    move_own(worker, &back, weights);
    return SYN_OK;
}

static enum syn_status check_rates(const struct syn_rates *rates)
{
    if (rates->lr > 0 && rates->lr < 1e30)
        return SYN_OK;
    return syn_fail(SYN_INVALID, "learning rate %g; expected a number above 0", rates->lr);
}

static enum syn_status prompt_step(struct syn_worker *worker, const float *gradient,
                                   const struct syn_rates *rates, float *weights)
{
    const float *arrived;
    SYN_TRY(syn_worker_contribute(worker, gradient, rates, true));
    SYN_TRY(syn_worker_take(worker, &arrived));
    memcpy(weights, arrived, worker->size * sizeof *weights);
    return SYN_OK;
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
    enum syn_status status = worker->inner ? local_step(worker, gradient, &own, weights)
                             : worker->schedule->is_delayed
                                 ? delayed_step(worker, gradient, &own, weights)
                                 : prompt_step(worker, gradient, &own, weights);
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
    if (status == SYN_OK || (status == SYN_NONFINITE && worker->v))
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

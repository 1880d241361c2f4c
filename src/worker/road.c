/* The worker's use of the reducer: it contributes gradients, of which at most `window` are in
 * flight, and collects them in the same order. */
#include <math.h>
#include <string.h>

#include "exchange/norm.h"
#include "reducer/lag.h"
#include "worker/clip.h"
#include "worker/inside.h"

enum syn_status syn_worker_open_road(struct syn_worker *worker, const struct syn_layout *layout)
{
    const struct syn_store_type *store = worker->store_type;
    struct syn_reducer_options options = worker->options.reducer;
    options.depth = worker->options.window;
    worker->longest = syn_clip_own(&worker->options);
    struct syn_road_setup setup = {
        .group = worker->group,
        .layout = layout,
        .options = &options,
        .owners = store->owners,
        .owners_state = store->owners ? worker->store : NULL,
        .overwrites = worker->schedule->is_delayed || worker->longest > 0,
    };
    SYN_TRY(syn_reducer_open_road(&setup, &worker->reducer));
    if (!worker->schedule->is_delayed)
        syn_reducer_let_lag(worker->reducer);
    if (store->attach)
        store->attach(worker->store, syn_reducer_comm(worker->reducer), &worker->cost);
    return SYN_OK;
}

static struct syn_push push_of(const struct syn_worker *worker, const struct syn_rates *rates,
                               bool pulls)
{
    return (struct syn_push){.density = rates->density,
                             .scale = worker->options.send_updates ? (float)rates->lr : 1,
                             .lr = rates->lr,
                             .pulls = pulls,
                             .values = rates->values};
}

static size_t in_flight(const struct syn_worker *worker)
{
    return syn_reducer_in_flight(worker->reducer) - (worker->is_announced ? 1 : 0);
}

/* Collect the oldest step.
 *   trial  to try out after it, or NULL */
static enum syn_status collect_one(struct syn_worker *worker, struct syn_trial *trial)
{
    struct syn_merged merged;
    double lr;
    SYN_TRY(syn_reducer_collect(worker->reducer, &merged, &lr));
    syn_cost_add(&worker->cost, &merged.cost);
    if (!worker->store_type->apply)
        return SYN_OK;
    return worker->store_type->apply(worker->store, &merged, lr, trial);
}

enum syn_status syn_worker_collect(struct syn_worker *worker, size_t left)
{
    while (in_flight(worker) > left)
        SYN_TRY(collect_one(worker, NULL));
    return SYN_OK;
}

enum syn_status syn_worker_contribute(struct syn_worker *worker, const float *gradient,
                                      const struct syn_rates *rates, bool pulls)
{
    if (worker->is_announced) { /* and has been sent, tensor by tensor */
        worker->is_announced = false;
        return SYN_OK;
    }
    SYN_TRY(syn_worker_collect(worker, worker->options.window - 1));
    struct syn_push push = push_of(worker, rates, pulls);
    if (worker->longest > 0)
        push.scale *=
            (float)syn_norm_scale(sqrt(syn_norm_square(gradient, worker->size)), worker->longest);
    return syn_reducer_contribute(worker->reducer, gradient, &push);
}

enum syn_status syn_worker_pull(struct syn_worker *worker, const float **weights)
{
    SYN_TRY(syn_worker_collect(worker, 0));
    *weights = worker->store_type->pulled(worker->store);
    return SYN_OK;
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

enum syn_status syn_worker_take_and_try(struct syn_worker *worker, struct syn_trial *trial,
                                        const float **weights)
{
    SYN_TRY(syn_worker_collect(worker, 1));
    if (in_flight(worker) == 1)
        SYN_TRY(collect_one(worker, trial));
    else
        SYN_TRY(worker->store_type->apply(worker->store, NULL, 0, trial));
    return syn_worker_take(worker, weights);
}

enum syn_status syn_worker_step_promptly(struct syn_worker *worker, const float *gradient,
                                         const struct syn_rates *rates, float *weights)
{
    const float *arrived;
    SYN_TRY(syn_worker_contribute(worker, gradient, rates, true));
    SYN_TRY(syn_worker_take(worker, &arrived));
    memcpy(weights, arrived, worker->size * sizeof *weights);
    return SYN_OK;
}

enum syn_status syn_worker_collect_all(struct syn_worker *worker, float *weights)
{
    const struct syn_store_type *store = worker->store_type;
    SYN_TRY(syn_worker_collect(worker, 0));
    if (store->settle)
        return store->settle(worker->store, weights);
    memcpy(weights, store->pulled(worker->store), worker->size * sizeof *weights);
    return SYN_OK;
}

/* A gradient that is clipped before it is sent, or copied without frozen tensors, must be complete
 * first. */
static bool can_begin_early(const struct syn_worker *worker)
{
    return !worker->schedule->is_delayed && !worker->inner && worker->longest == 0 &&
           !worker->trained;
}

enum syn_status syn_worker_announce(struct syn_worker *worker, const float *gradient,
                                    const struct syn_rates *rates)
{
    if (!can_begin_early(worker))
        return SYN_OK;
    SYN_TRY(syn_worker_collect(worker, worker->options.window - 1));
    struct syn_push push = push_of(worker, rates, true); /* synchronous steps all pull */
    SYN_TRY(syn_reducer_announce(worker->reducer, gradient, &push));
    worker->is_announced = true;
    return SYN_OK;
}

enum syn_status syn_worker_ready(struct syn_worker *worker, size_t tensor)
{
    return can_begin_early(worker) ? syn_reducer_ready(worker->reducer, tensor) : SYN_OK;
}

/* Steps with a delay: the worker's own weights v continue from the global ones whenever those
 * arrive, and follow its own gradient in between. */
#include "worker/delayed.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "exchange/norm.h"
#include "tensor/kernels.h"
#include "worker/inside.h"

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
    if (worker->v && worker->v != weights)
        memcpy(worker->v, weights, worker->size * sizeof(float));
    if (worker->memory)
        memset(worker->memory, 0, worker->size * sizeof(float));
    worker->snapshot_count = 0;
    worker->is_pull_open = false;
    take_snapshot(worker, weights, steps);
    if (worker->inner)
        syn_inner_restart(worker->inner, worker->v);
}

enum syn_status syn_delayed_open(struct syn_worker *worker, const float *weights)
{
    size_t size = worker->size;
    if (!worker->looks_ahead)
        SYN_TRY(syn_allocate(size, sizeof(float), &worker->v));
    if (worker->local->memory > 0 && !worker->looks_ahead)
        SYN_TRY(syn_allocate(size, sizeof(float), &worker->memory));
    for (size_t i = 0; i < worker->local->snapshots; i++)
        SYN_TRY(syn_allocate(size, sizeof(float), &worker->snapshots[i]));
    if (worker->local->snapshots == 2)
        SYN_TRY(syn_allocate(size, sizeof(float), &worker->global_mean));
    syn_worker_restart(worker, weights, 0);
    return SYN_OK;
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

float syn_delayed_alpha(const struct syn_worker *worker)
{
    double own = worker->options.alpha;
    return own == SYN_AUTO ? worker->local->usual_alpha : (float)own;
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
        .alpha = syn_delayed_alpha(worker),
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

float syn_delayed_clip(const struct syn_worker *worker, const float *gradient)
{
    double longest = worker->options.clip;
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
    move->scale = syn_delayed_clip(worker, gradient);
}

enum syn_status syn_delayed_step(struct syn_worker *worker, const float *gradient,
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

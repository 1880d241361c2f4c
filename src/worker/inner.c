/* Rounds of a worker's own steps. */
#include "worker/inner.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "exchange/norm.h"
#include "optim/optim.h"
#include "worker/inside.h"

struct syn_inner {
    struct syn_optimizer *optimizer; /* of this worker */
    float *start;                    /* [size] where the round began */
    float *way;                      /* [size] start - v; must not change while it is exchanged */
    size_t size;
    uint64_t done; /* steps of this round */
    size_t bad;    /* the first entry of its gradients that is not finite; size: all are finite */
};

/* The saved progress of a round. */
struct head {
    uint64_t done;
    uint64_t bad;
};

struct syn_worker_options syn_inner_store_options(const struct syn_worker_options *resolved)
{
    struct syn_worker_options options = *resolved;
    if (!syn_schedule_find(resolved->schedule)->is_local)
        return options;
    syn_settings_defaults(&syn_optimizer_settings, &options.optimizer);
    options.optimizer.momentum = resolved->outer_momentum;
    options.optimizer.nesterov = resolved->outer_momentum > 0;
    return options;
}

void syn_inner_close(struct syn_inner *inner)
{
    if (!inner)
        return;
    syn_optimizer_free(inner->optimizer);
    free(inner->start);
    free(inner->way);
    free(inner);
}

void syn_inner_restart(struct syn_inner *inner, const float *weights)
{
    memcpy(inner->start, weights, inner->size * sizeof *inner->start);
    syn_optimizer_restart(inner->optimizer);
    inner->done = 0;
    inner->bad = inner->size;
}

/* The rates of tensors apply to the inner optimizer; an outer step is the same for all tensors. */
enum syn_status syn_inner_open(struct syn_worker *worker, const struct syn_layout *layout,
                               struct syn_inner **inner)
{
    struct syn_inner *made;
    SYN_TRY(syn_allocate(1, sizeof *made, &made));
    *inner = made;
    made->size = worker->size;
    SYN_TRY(syn_allocate(made->size, sizeof(float), &made->start));
    SYN_TRY(syn_allocate(made->size, sizeof(float), &made->way));
    SYN_TRY(syn_optimizer_open_layout(&worker->options.optimizer, layout, &made->optimizer));
    syn_inner_restart(made, worker->v);
    return SYN_OK;
}

enum syn_status syn_inner_tune(struct syn_inner *inner, const struct syn_optimizer_options *options,
                               const struct syn_layout *layout)
{
    return syn_optimizer_tune(inner->optimizer, options, layout);
}

/* The next round begins where v is. */
static void begin_round(struct syn_worker *worker)
{
    struct syn_inner *inner = worker->inner;
    memcpy(inner->start, worker->v, inner->size * sizeof(float));
    inner->done = 0;
    inner->bad = inner->size;
}

/* How far this round has come. */
static void measure_way(struct syn_worker *worker)
{
    struct syn_inner *inner = worker->inner;
    for (size_t i = 0; i < inner->size; i++)
        inner->way[i] = inner->start[i] - worker->v[i];
}

/* If one of the round's gradients was not finite, all workers must learn of it. */
static enum syn_status contribute_way(struct syn_worker *worker, const struct syn_rates *rates)
{
    struct syn_inner *inner = worker->inner;
    struct syn_rates outer = *rates;
    if (inner->bad < inner->size)
        inner->way[inner->bad] = NAN;
    outer.lr = worker->options.outer_lr;
    return syn_worker_contribute(worker, inner->way, &outer, true);
}

/* End a round. If the result of the previous one is still under way, it is collected first, as the
 * exchange reads that round's `way` until then. */
static enum syn_status merge(struct syn_worker *worker, const struct syn_rates *rates, bool waits)
{
    const float *arrived = NULL;
    if (worker->is_pull_open)
        SYN_TRY(syn_worker_take(worker, &arrived));
    worker->is_pull_open = false;
    measure_way(worker);
    for (size_t i = 0; arrived && i < worker->size; i++)
        worker->v[i] = arrived[i] - worker->inner->way[i];
    SYN_TRY(contribute_way(worker, rates));
    worker->is_pull_open = !waits;
    if (waits) {
        SYN_TRY(syn_worker_take(worker, &arrived));
        memcpy(worker->v, arrived, worker->size * sizeof(float));
    }
    begin_round(worker);
    return SYN_OK;
}

/* A round with a gradient that is not finite is dropped by all workers when it ends; until then the
 * worker skips that gradient. */
static enum syn_status update(struct syn_worker *worker, const float *gradient, double lr)
{
    struct syn_inner *inner = worker->inner;
    double longest = worker->options.clip;
    size_t bad = syn_first_not_finite(gradient, inner->size);
    if (bad < inner->size) {
        inner->bad = bad;
        return SYN_OK;
    }
    double scale = 1;
    if (longest > 0)
        scale = syn_norm_scale(sqrt(syn_norm_square(gradient, inner->size)), longest);
    return syn_optimizer_apply(inner->optimizer, lr, scale, gradient, worker->v);
}

enum syn_status syn_inner_step(struct syn_worker *worker, const float *gradient,
                               const struct syn_rates *rates)
{
    const struct syn_worker_options *options = &worker->options;
    bool is_last = options->run_steps > 0 && worker->steps + 1 == options->run_steps;
    SYN_TRY(update(worker, gradient, rates->lr));
    worker->inner->done++;
    if (worker->inner->done < options->inner_steps && !is_last)
        return SYN_OK;
    return merge(worker, rates, !options->outer_late || is_last);
}

enum syn_status syn_inner_save(const struct syn_inner *inner, struct syn_archive *archive)
{
    struct head head = {inner->done, inner->bad};
    SYN_TRY(syn_archive_add(archive, "inner/head", &head, sizeof head));
    SYN_TRY(syn_archive_add(archive, "inner/start", inner->start, inner->size * sizeof(float)));
    return syn_store_save_optimizer(inner->optimizer, "inner/optimizer", archive);
}

enum syn_status syn_inner_load_memory(struct syn_inner *inner, const struct syn_archive *archive)
{
    return syn_store_load_optimizer(inner->optimizer, "inner/optimizer", archive);
}

enum syn_status syn_inner_load(struct syn_inner *inner, const struct syn_archive *archive)
{
    struct head head = {0};
    SYN_TRY(syn_archive_copy(archive, "inner/head", &head, sizeof head));
    SYN_TRY(syn_archive_copy(archive, "inner/start", inner->start, inner->size * sizeof(float)));
    if (head.bad > inner->size || syn_first_not_finite(inner->start, inner->size) < inner->size)
        return syn_fail(SYN_FORMAT, "section \"inner/start\" or \"inner/head\" is invalid");
    inner->done = head.done;
    inner->bad = (size_t)head.bad;
    return syn_inner_load_memory(inner, archive);
}

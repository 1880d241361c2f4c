/* Peer to peer: every worker is in charge of one shard of the global weights. A push is a
 * reduce-scatter, after which each worker applies the optimizer to its own shard; a pull is an
 * all-gather of the shards. So dense SGD that pulls every k-th step moves (1 + 1/k) instead of 2
 * times the model, and optimizer state is kept once, not P times.
 *
 * The sums have the bits of the ring all-reduce, and the optimizer works on each weight by itself:
 * a run that pulls at every step gives the bits of replicas.
 *
 * Everything after the push runs on the communication thread, in order: own weights, optimizer and
 * ring are its alone while pushes are under way. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/memory.h"
#include "exchange/ring.h"
#include "worker/clip.h"
#include "worker/store.h"

#define MOST_WINDOW 16

struct shards;

/* One push on its way. */
struct push {
    struct syn_work work; /* first, so that a work is its push */
    struct shards *shards;
    const float *gradient;
    float *copy; /* [size], or NULL if the step waits for it anyway */
    double lr;
    bool pulls;
};

struct shards {
    struct syn_group *group;
    struct syn_layout *layout; /* for the names of tensors */
    struct syn_ring *ring;
    struct syn_optimizer *optimizer; /* of the own shard */
    struct syn_comm *comm;
    struct syn_chunk own;
    float *weights; /* [size] the own shard counts, the rest is as pulled last */
    float *pulled;  /* [size] what take() hands out */
    float *sum;     /* [size] */
    size_t size;
    size_t window;
    size_t open;
    size_t oldest;
    struct push pushes[MOST_WINDOW];
    struct syn_cost cost;
    double longest;              /* mean gradient that is not clipped; 0: any */
    struct syn_clip_party party; /* those who know its norm together */
};

static enum syn_status check(const struct syn_worker_options *options)
{
    if (strcmp(options->reducer.select, "all") != 0 || strcmp(options->reducer.values, "f32") != 0)
        return syn_fail(SYN_INVALID,
                        "store shards sums whole f32 gradients, not select %s, values %s",
                        options->reducer.select, options->reducer.values);
    return SYN_OK;
}

static void close_state(void *state)
{
    struct shards *shards = state;
    if (!shards)
        return;
    syn_comm_close(shards->comm);
    syn_ring_close(shards->ring);
    syn_optimizer_free(shards->optimizer);
    syn_clip_party_close(&shards->party);
    syn_layout_free(shards->layout);
    for (size_t i = 0; i < MOST_WINDOW; i++)
        free(shards->pushes[i].copy);
    free(shards->weights);
    free(shards->pulled);
    free(shards->sum);
    free(shards);
}

static enum syn_status open_parts(struct shards *shards, const struct syn_store_setup *setup)
{
    size_t size = syn_layout_size(setup->layout);
    shards->group = setup->group;
    shards->size = size;
    shards->window = (size_t)setup->options->window;
    shards->longest = setup->options->clip;
    SYN_TRY(syn_clip_party_open(&shards->party, setup->group, 0, setup->group->workers));
    SYN_TRY(syn_layout_copy(setup->layout, &shards->layout));
    SYN_TRY(syn_ring_open(setup->group, size, syn_value_find("f32"), &shards->ring));
    shards->own = syn_ring_own(shards->ring, size);
    SYN_TRY(syn_store_open_optimizer(setup->options, shards->own.count, &shards->optimizer));
    SYN_TRY(syn_allocate(size, sizeof(float), &shards->weights));
    SYN_TRY(syn_allocate(size, sizeof(float), &shards->pulled));
    SYN_TRY(syn_allocate(size, sizeof(float), &shards->sum));
    memcpy(shards->weights, setup->weights, size * sizeof(float));
    for (size_t i = 0; i < shards->window; i++) {
        shards->pushes[i].shards = shards;
        if (setup->is_delayed)
            SYN_TRY(syn_allocate(size, sizeof(float), &shards->pushes[i].copy));
    }
    return syn_comm_open(shards->group, &shards->comm);
}

static enum syn_status open_state(const struct syn_store_setup *setup, void **state)
{
    struct shards *shards;
    SYN_TRY(syn_allocate(1, sizeof *shards, &shards));
    enum syn_status status = open_parts(shards, setup);
    if (status != SYN_OK) {
        close_state(shards);
        return status;
    }
    *state = shards;
    return SYN_OK;
}

static enum syn_status complain(const struct shards *shards, const char *what, size_t entry)
{
    struct syn_tensor tensor =
        syn_layout_tensor(shards->layout, syn_layout_find(shards->layout, entry));
    return syn_fail(SYN_NONFINITE, "%s not finite in tensor \"%s\", entry %zu", what, tensor.name,
                    entry - tensor.offset);
}

/* Each sum is seen by its shard's owner only, and yet all must know of a gradient that is not
 * finite before any of them applies it. So such a gradient is replaced by one of nothing but NaN,
 * which makes NaN of every owner's sum.
 *   bad  the first entry that was not finite; size if all were */
static enum syn_status reduce(struct shards *shards, const float *gradient, size_t *bad)
{
    *bad = syn_first_not_finite(gradient, shards->size);
    if (*bad == shards->size)
        return syn_ring_reduce(shards->ring, gradient, shards->sum, NULL, shards->size);
    for (size_t i = 0; i < shards->size; i++)
        shards->sum[i] = NAN;
    if (shards->group->workers == 1)
        return SYN_OK;
    return syn_ring_reduce(shards->ring, shards->sum, shards->sum, NULL, shards->size);
}

/* Whether the sum can be applied. Sums of finite numbers may be infinite, but never NaN: where the
 * owner finds the former it alone knows, and has to fail the group.
 *   bad          of the own gradient, as of reduce()
 *   is_nonfinite  all workers know that it cannot, and can go on */
static enum syn_status check_sum(const struct shards *shards, size_t bad, bool *is_nonfinite)
{
    const float *sum = shards->sum + shards->own.first;
    bool has_everyone_a_shard = shards->size >= shards->group->workers;
    *is_nonfinite = has_everyone_a_shard && syn_magnitude(sum[0]) > SYN_INFINITY_BITS;
    if (bad < shards->size)
        return complain(shards, "gradient", bad);
    if (*is_nonfinite)
        return syn_fail(SYN_NONFINITE, "another worker's gradient is not finite");
    bad = syn_first_not_finite(sum, shards->own.count);
    return bad == shards->own.count ? SYN_OK : complain(shards, "sum", shards->own.first + bad);
}

/* What to multiply everyone's sum by: one over the workers, or less if the mean is too long. */
static enum syn_status find_scale(struct shards *shards, double *scale)
{
    double square = 0;
    *scale = 1 / (double)shards->group->workers;
    if (shards->longest == 0)
        return SYN_OK;
    double own = syn_clip_square(shards->sum + shards->own.first, shards->own.count);
    SYN_TRY(syn_clip_party_add(&shards->party, own, &square));
    *scale *= syn_clip_scale(*scale * sqrt(square), shards->longest);
    return SYN_OK;
}

static enum syn_status exchange(struct shards *shards, struct push *push)
{
    struct syn_chunk own = shards->own;
    double scale;
    size_t bad;
    SYN_TRY(reduce(shards, push->gradient, &bad));
    SYN_TRY(check_sum(shards, bad, &push->work.is_shared));
    SYN_TRY(find_scale(shards, &scale));
    SYN_TRY(syn_optimizer_apply(shards->optimizer, push->lr, scale, shards->sum + own.first,
                                shards->weights + own.first));
    if (!push->pulls)
        return SYN_OK;
    memcpy(shards->pulled + own.first, shards->weights + own.first, own.count * sizeof(float));
    return syn_ring_allgather(shards->ring, shards->pulled, NULL, shards->size);
}

static enum syn_status run_push(struct syn_work *work)
{
    struct push *push = (struct push *)work;
    return exchange(push->shards, push);
}

static enum syn_status drain(void *state, size_t left)
{
    struct shards *shards = state;
    while (shards->open > left) {
        struct push *push = &shards->pushes[shards->oldest];
        int64_t began = syn_clock_ns();
        enum syn_status status = syn_comm_wait(shards->comm, &push->work);
        push->work.cost.wait_ms = (double)(syn_clock_ns() - began) * 1e-6;
        push->work.cost.selected = shards->size;
        shards->oldest = (shards->oldest + 1) % shards->window;
        shards->open--;
        SYN_TRY(status);
        syn_cost_add(&shards->cost, &push->work.cost);
    }
    return SYN_OK;
}

static enum syn_status push_gradient(void *state, const float *gradient,
                                     const struct syn_rates *rates, bool pulls)
{
    struct shards *shards = state;
    SYN_TRY(drain(shards, shards->window - 1));
    struct push *push = &shards->pushes[(shards->oldest + shards->open) % shards->window];
    push->gradient = gradient;
    if (push->copy) {
        memcpy(push->copy, gradient, shards->size * sizeof(float));
        push->gradient = push->copy;
    }
    push->lr = rates->lr;
    push->pulls = pulls;
    push->work.run = run_push;
    shards->open++;
    syn_comm_post(shards->comm, &push->work);
    return SYN_OK;
}

static enum syn_status take(void *state, const float **weights)
{
    struct shards *shards = state;
    SYN_TRY(drain(shards, 0));
    *weights = shards->pulled;
    return SYN_OK;
}

/* Collect everyone's shard, on the communication thread like everything that speaks. */
struct collecting {
    struct syn_work work; /* first */
    struct shards *shards;
    float *weights;
};

static enum syn_status run_collecting(struct syn_work *work)
{
    const struct collecting *own = (const struct collecting *)work;
    return syn_ring_allgather(own->shards->ring, own->weights, NULL, own->shards->size);
}

static enum syn_status settle(void *state, float *weights)
{
    struct shards *shards = state;
    struct collecting own = {.work.run = run_collecting, .shards = shards, .weights = weights};
    SYN_TRY(drain(shards, 0));
    memcpy(weights + shards->own.first, shards->weights + shards->own.first,
           shards->own.count * sizeof(float));
    syn_comm_post(shards->comm, &own.work);
    return syn_comm_wait(shards->comm, &own.work);
}

static struct syn_comm *comm(void *state)
{
    struct shards *shards = state;
    return shards->comm;
}

static struct syn_cost cost(void *state)
{
    struct shards *shards = state;
    struct syn_cost spent = shards->cost;
    shards->cost = (struct syn_cost){0};
    return spent;
}

static enum syn_status save(void *state, struct syn_archive *archive)
{
    struct shards *shards = state;
    struct syn_chunk own = shards->own;
    SYN_TRY(syn_archive_add(archive, "store/weights", shards->weights + own.first,
                            own.count * sizeof(float)));
    SYN_TRY(syn_archive_add(archive, "store/pulled", shards->pulled, shards->size * sizeof(float)));
    return syn_store_save_optimizer(shards->optimizer, archive);
}

static enum syn_status load(void *state, const struct syn_archive *archive)
{
    struct shards *shards = state;
    struct syn_chunk own = shards->own;
    SYN_TRY(syn_archive_copy(archive, "store/weights", shards->weights + own.first,
                             own.count * sizeof(float)));
    SYN_TRY(
        syn_archive_copy(archive, "store/pulled", shards->pulled, shards->size * sizeof(float)));
    return syn_store_load_optimizer(shards->optimizer, archive);
}

/* Copy everyone's section of that name, a chunk of each `row` of an array, to where it was in the
 * whole.
 *   rows  the optimizer has one row of memory for each float it remembers of a weight */
static enum syn_status put_together(const struct shards *shards, const char *name, size_t rows,
                                    const struct syn_archive *const *archives, size_t count,
                                    float *whole)
{
    for (size_t rank = 0; rank < count; rank++) {
        struct syn_chunk chunk = syn_chunk_of(shards->size, count, rank + 1);
        struct syn_section section = {0};
        SYN_TRY(syn_archive_find(archives[rank], name, &section));
        if (section.count != rows * chunk.count * sizeof(float))
            return syn_fail(SYN_FORMAT, "section \"%s\" of worker %zu of %zu has %zu bytes", name,
                            rank, count, section.count);
        for (size_t row = 0; row < rows; row++)
            memcpy(whole + row * shards->size + chunk.first,
                   (const float *)section.bytes + row * chunk.count, chunk.count * sizeof(float));
    }
    return SYN_OK;
}

static enum syn_status load_memory(struct shards *shards, const struct syn_archive *const *archives,
                                   size_t count)
{
    struct syn_chunk own = shards->own;
    size_t rows = own.count ? syn_optimizer_state_size(shards->optimizer) / own.count : 0;
    float *whole = malloc((rows * shards->size + 1) * sizeof *whole);
    float *part = malloc((rows * own.count + 1) * sizeof *part);
    enum syn_status status = whole && part ? SYN_OK : syn_fail(SYN_MEMORY, "no memory");
    if (status == SYN_OK)
        status = put_together(shards, "store/optimizer", rows, archives, count, whole);
    for (size_t row = 0; row < rows && status == SYN_OK; row++)
        memcpy(part + row * own.count, whole + row * shards->size + own.first,
               own.count * sizeof *part);
    if (status == SYN_OK)
        status = syn_optimizer_load(shards->optimizer, part, rows * own.count);
    free(whole);
    free(part);
    return status;
}

static enum syn_status load_regrouped(void *state, const struct syn_archive *const *archives,
                                      size_t count, float *weights)
{
    struct shards *shards = state;
    SYN_TRY(put_together(shards, "store/weights", 1, archives, count, weights));
    memcpy(shards->weights, weights, shards->size * sizeof(float));
    return load_memory(shards, archives, count);
}

const struct syn_store_type syn_store_shards = {
    .part = {"shards", "peer to peer: every worker keeps and updates one shard of the weights"},
    .check = check,
    .open = open_state,
    .push = push_gradient,
    .drain = drain,
    .take = take,
    .settle = settle,
    .comm = comm,
    .cost = cost,
    .save = save,
    .load = load,
    .load_regrouped = load_regrouped,
    .close = close_state,
};

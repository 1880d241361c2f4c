/* Peer to peer: every worker owns one shard of the global weights. A push is a reduce-scatter,
 * after which each worker applies the optimizer to its own shard; a pull is an all-gather of the
 * shards. So dense SGD that pulls every k-th step moves (1 + 1/k) times the model instead of 2
 * times, and optimizer state is kept once, not P times.
 *
 * The sums have the same bits as those of the ring all-reduce, and the optimizer updates each
 * weight independently: a run that pulls at every step gives the same bits as replicas.
 *
 * Everything after the push runs on the communication thread, in order: only that thread uses the
 * shard's weights, optimizer and ring while pushes are under way. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "exchange/norm.h"
#include "exchange/ring.h"
#include "optim/optim.h"
#include "schedule/schedule.h"
#include "select/select.h"
#include "worker/clip.h"
#include "worker/store.h"

struct shards {
    struct syn_group *group;
    struct syn_layout *layout; /* for the names of tensors */
    const struct syn_exchange_type *exchange;
    void *sums;                      /* its state for sums, in the options' values */
    void *shares;                    /* its state for weights, exact */
    struct syn_optimizer *optimizer; /* of this worker's shard */
    size_t memories;                 /* floats that it remembers per weight */
    bool counts;                     /* its state ends with the number of its updates */
    struct syn_comm *comm;
    struct syn_chunk own;
    float *weights; /* [size] this worker's shard is current, the rest as pulled last */
    float *pulled;  /* [size] as collected from all shards */
    float *sum;     /* [size] */
    size_t size;
    bool sends_updates;
    double longest;          /* norm above which the mean gradient is clipped; 0: never */
    struct syn_norm norm;    /* of the workers, which compute that norm together */
    uint64_t failed_attempt; /* 1 + the attempt whose steps must not be applied; 0: none */
};

/* With a delay and whole gradients in one bucket, it sends less than replicas and gives the same
 * bits. */
static bool suits(const struct syn_worker_options *options)
{
    return syn_schedule_find(options->schedule)->is_delayed &&
           syn_select_find(options->reducer.select)->is_dense &&
           syn_value_find(options->reducer.values)->is_exact &&
           options->reducer.bucket_bytes == 0 &&
           !syn_exchange_find(options->reducer.exchange)->follows_density;
}

static void close_state(void *state)
{
    struct shards *shards = state;
    if (!shards)
        return;
    if (shards->sums)
        shards->exchange->close(shards->sums);
    if (shards->shares)
        shards->exchange->close(shards->shares);
    syn_layout_free(shards->layout);
    syn_optimizer_free(shards->optimizer);
    syn_norm_close(&shards->norm);
    free(shards->weights);
    free(shards->pulled);
    free(shards->sum);
    free(shards);
}

static enum syn_status open_exchange(struct shards *shards, const char *values, void **state)
{
    struct syn_exchange_setup setup = {
        .group = shards->group, .size = shards->size, .values = syn_value_find(values)};
    return shards->exchange->open(&setup, state);
}

static enum syn_status open_parts(struct shards *shards, const struct syn_store_setup *setup)
{
    size_t size = syn_layout_size(setup->layout);
    shards->group = setup->group;
    shards->size = size;
    shards->sends_updates = setup->options->send_updates;
    shards->longest = syn_clip_merged(setup->options);
    shards->exchange = syn_exchange_find(setup->options->reducer.exchange);
    SYN_TRY(syn_layout_copy(setup->layout, &shards->layout));
    SYN_TRY(syn_norm_open(&shards->norm, setup->group, 0, setup->group->workers));
    SYN_TRY(open_exchange(shards, setup->options->reducer.values, &shards->sums));
    SYN_TRY(open_exchange(shards, "f32", &shards->shares));
    shards->own = shards->exchange->own(shards->sums, size);
    shards->memories = syn_optimizer_memories(&setup->options->optimizer);
    shards->counts = syn_optimizer_counts(&setup->options->optimizer);
    SYN_TRY(syn_optimizer_open_part(setup->options->reducer.residual_momentum,
                                    &setup->options->optimizer, setup->layout, shards->own.first,
                                    shards->own.count, syn_schedule_rates(setup->options),
                                    &shards->optimizer));
    SYN_TRY(syn_allocate(size, sizeof(float), &shards->weights));
    SYN_TRY(syn_allocate(size, sizeof(float), &shards->pulled));
    SYN_TRY(syn_allocate(size, sizeof(float), &shards->sum));
    memcpy(shards->weights, setup->weights, size * sizeof(float));
    return SYN_OK;
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

/* Each sum is seen only by its shard's owner, but all must know of a gradient that is not finite
 * before any of them applies it. So such a gradient is replaced by one that is all NaN, which makes
 * every owner's sum NaN.
 *   bad  the first entry that is not finite; size if all are finite */
static enum syn_status reduce(struct shards *shards, const struct syn_contribution *in,
                              struct syn_outcome *out, size_t *bad)
{
    struct syn_contribution own = *in;
    struct syn_outcome reduced = *out;
    reduced.dense = shards->sum;
    *bad = syn_first_not_finite(in->dense, shards->size);
    if (*bad < shards->size) {
        for (size_t i = 0; i < shards->size; i++)
            shards->sum[i] = NAN;
        own.dense = shards->sum;
        if (shards->group->workers == 1)
            return SYN_OK;
    }
    return shards->exchange->reduce(shards->sums, &own, &reduced);
}

/* Whether the sum can be applied. Sums of finite numbers may be infinite, but never NaN: if an
 * owner finds infinity, it alone knows and must fail the group. If some worker has no shard to find
 * NaN in, every worker that finds NaN must do so too.
 *   bad  of this worker's gradient, as in reduce() */
static enum syn_status check_sum(const struct shards *shards, size_t bad, struct syn_outcome *out)
{
    const float *sum = shards->sum + shards->own.first;
    bool is_bad = bad < shards->size;
    bool has_everyone_a_shard = shards->size >= shards->group->workers;
    out->is_nonfinite = has_everyone_a_shard && syn_magnitude(sum[0]) > SYN_INFINITY_BITS;
    out->nonfinite_entry = is_bad ? (uint32_t)bad : SYN_ENTRY_UNKNOWN;
    if (out->is_nonfinite)
        return SYN_OK;
    if (is_bad)
        return syn_fail_nonfinite(shards->layout, "gradient", bad);
    bad = syn_first_not_finite(sum, shards->own.count);
    return bad == shards->own.count
               ? SYN_OK
               : syn_fail_nonfinite(shards->layout, "sum", shards->own.first + bad);
}

/* The factor of every sum: one over the number of workers, or less if the mean is too long. In
 * units of weights, the sum is already lr times a gradient. */
static enum syn_status find_scale(struct shards *shards, double lr, double *scale)
{
    double square = 0;
    *scale = 1 / ((double)shards->group->workers * (shards->sends_updates ? lr : 1));
    if (shards->longest == 0)
        return SYN_OK;
    double own = syn_norm_square(shards->sum + shards->own.first, shards->own.count);
    SYN_TRY(syn_norm_add(&shards->norm, own, &square));
    *scale *= syn_norm_scale(*scale * sqrt(square), shards->longest);
    return SYN_OK;
}

static enum syn_status update(struct shards *shards, double lr)
{
    size_t first = shards->own.first;
    double scale;
    SYN_TRY(find_scale(shards, lr, &scale));
    return syn_optimizer_apply(shards->optimizer, lr, scale, shards->sum + first,
                               shards->weights + first);
}

/* Collect all shards as they are now. */
static enum syn_status collect(struct shards *shards, float *weights)
{
    struct syn_chunk own = shards->own;
    memcpy(weights + own.first, shards->weights + own.first, own.count * sizeof *weights);
    return shards->exchange->collect(shards->shares, weights, shards->size);
}

/* One step, on the communication thread. */
static enum syn_status run(void *state, const struct syn_contribution *in, struct syn_outcome *out)
{
    struct shards *shards = state;
    size_t bad;
    if (shards->failed_attempt == in->attempt + 1) { /* will be dropped by all workers */
        out->is_nonfinite = true;
        out->nonfinite_entry = SYN_ENTRY_UNKNOWN;
        return SYN_OK;
    }
    SYN_TRY(reduce(shards, in, out, &bad));
    SYN_TRY(check_sum(shards, bad, out));
    if (out->is_nonfinite) {
        shards->failed_attempt = in->attempt + 1;
        return SYN_OK;
    }
    SYN_TRY(update(shards, in->lr));
    return in->pulls ? collect(shards, shards->pulled) : SYN_OK;
}

static const struct syn_exchange_type owners = {
    .part = {"shards", "to the worker that owns each shard"},
    .is_dense = true,
    .keeps_sums = true,
    .run = run,
};

static const float *pulled(const void *state)
{
    const struct shards *shards = state;
    return shards->pulled;
}

static void attach(void *state, struct syn_comm *comm, struct syn_cost *cost)
{
    struct shards *shards = state;
    (void)cost;
    shards->comm = comm;
}

struct settling {
    struct syn_work work; /* first */
    struct shards *shards;
    float *weights;
};

static enum syn_status run_settling(struct syn_work *work)
{
    const struct settling *own = (const struct settling *)work;
    return collect(own->shards, own->weights);
}

static enum syn_status settle(void *state, float *weights)
{
    struct shards *shards = state;
    struct settling own = {.work.run = run_settling, .shards = shards, .weights = weights};
    syn_comm_post(shards->comm, &own.work);
    return syn_comm_wait(shards->comm, &own.work);
}

static enum syn_status save(void *state, struct syn_archive *archive)
{
    struct shards *shards = state;
    struct syn_chunk own = shards->own;
    SYN_TRY(syn_archive_add(archive, "store/weights", shards->weights + own.first,
                            own.count * sizeof(float)));
    SYN_TRY(syn_archive_add(archive, "store/pulled", shards->pulled, shards->size * sizeof(float)));
    return syn_store_save_optimizer(shards->optimizer, SYN_STORE_OPTIMIZER, archive);
}

static enum syn_status load(void *state, const struct syn_archive *archive)
{
    struct shards *shards = state;
    struct syn_chunk own = shards->own;
    SYN_TRY(syn_archive_copy(archive, "store/weights", shards->weights + own.first,
                             own.count * sizeof(float)));
    SYN_TRY(
        syn_archive_copy(archive, "store/pulled", shards->pulled, shards->size * sizeof(float)));
    return syn_store_load_optimizer(shards->optimizer, SYN_STORE_OPTIMIZER, archive);
}

/* Copy all workers' sections of that name, each a chunk of each row of an array, to their places in
 * the whole array.
 *   rows  the optimizer has one row of memory for each float it remembers per weight
 *   more  floats that follow them, ignored */
static enum syn_status put_together(size_t size, const char *name, size_t rows, size_t more,
                                    const struct syn_archive *const *archives, size_t count,
                                    float *whole)
{
    for (size_t rank = 0; rank < count; rank++) {
        struct syn_chunk chunk = syn_chunk_of(size, count, rank + 1);
        struct syn_section section = {0};
        SYN_TRY(syn_archive_find(archives[rank], name, &section));
        if (section.count != (rows * chunk.count + more) * sizeof(float))
            return syn_fail(SYN_FORMAT, "section \"%s\" of worker %zu of %zu has %zu bytes", name,
                            rank, count, section.count);
        for (size_t row = 0; row < rows; row++)
            memcpy(whole + row * size + chunk.first,
                   (const float *)section.bytes + row * chunk.count, chunk.count * sizeof(float));
    }
    return SYN_OK;
}

static enum syn_status load_memory(struct shards *shards, const struct syn_archive *const *archives,
                                   size_t count)
{
    struct syn_chunk own = shards->own;
    size_t rows = shards->memories;
    size_t more = shards->counts ? 1 : 0;
    struct syn_section last = {0};
    float *whole = malloc((rows * shards->size + 1) * sizeof *whole);
    float *part = malloc((rows * own.count + 1) * sizeof *part);
    enum syn_status status = whole && part ? SYN_OK : syn_fail(SYN_MEMORY, "no memory");
    if (status == SYN_OK)
        status = put_together(shards->size, "store/optimizer", rows, more, archives, count, whole);
    if (status == SYN_OK && more)
        status = syn_archive_find(archives[0], "store/optimizer", &last);
    if (status == SYN_OK && more)
        part[rows * own.count] = ((const float *)last.bytes)[last.count / sizeof(float) - 1];
    for (size_t row = 0; row < rows && status == SYN_OK; row++)
        memcpy(part + row * own.count, whole + row * shards->size + own.first,
               own.count * sizeof *part);
    if (status == SYN_OK)
        status = syn_optimizer_load(shards->optimizer, part, rows * own.count + more);
    free(whole);
    free(part);
    return status;
}

static enum syn_status load_regrouped(void *state, const struct syn_archive *const *archives,
                                      size_t count, float *weights)
{
    struct shards *shards = state;
    SYN_TRY(put_together(shards->size, "store/weights", 1, 0, archives, count, weights));
    memcpy(shards->weights, weights, shards->size * sizeof(float));
    return load_memory(shards, archives, count);
}

static enum syn_status saved(const struct syn_archive *const *archives, size_t count, size_t size,
                             float *weights)
{
    return put_together(size, "store/weights", 1, 0, archives, count, weights);
}

static enum syn_status tune(void *state, const struct syn_optimizer_options *options,
                            const struct syn_layout *layout)
{
    struct shards *shards = state;
    return syn_optimizer_tune(shards->optimizer, options, layout);
}

const struct syn_store_type syn_store_shards = {
    .part = {"shards", "peer to peer: every worker keeps and updates one shard of the weights"},
    .suits = suits,
    .owners = &owners,
    .halves_exchange = true,
    .open = open_state,
    .attach = attach,
    .tune = tune,
    .pulled = pulled,
    .settle = settle,
    .save = save,
    .load = load,
    .load_regrouped = load_regrouped,
    .saved = saved,
    .close = close_state,
};

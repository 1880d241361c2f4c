/* Every worker has all the global weights and applies every merged gradient to them: no weights are
 * sent. Suited to sparse exchanges, whose sums are small, and to plain synchronous SGD. The merged
 * gradient has the same bits on every worker, and therefore so do the weights. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "exchange/norm.h"
#include "exchange/ring.h"
#include "optim/optim.h"
#include "schedule/schedule.h"
#include "worker/clip.h"
#include "worker/store.h"

struct replicas {
    struct syn_optimizer *optimizer;
    float *weights; /* [size] */
    size_t size;
    size_t workers;
    bool sends_updates;
    double longest; /* norm above which the mean gradient is clipped; 0: never */
};

static void close_state(void *state)
{
    struct replicas *own = state;
    if (!own)
        return;
    syn_optimizer_free(own->optimizer);
    free(own->weights);
    free(own);
}

static enum syn_status open_parts(struct replicas *own, const struct syn_store_setup *setup)
{
    own->size = syn_layout_size(setup->layout);
    own->workers = syn_group_workers(setup->group);
    own->sends_updates = setup->options->send_updates;
    own->longest = syn_clip_merged(setup->options);
    SYN_TRY(syn_allocate(own->size, sizeof *own->weights, &own->weights));
    memcpy(own->weights, setup->weights, own->size * sizeof *own->weights);
    return syn_optimizer_open_part(setup->options->reducer.residual_momentum,
                                   &setup->options->optimizer, setup->layout, 0, own->size,
                                   syn_schedule_rates(setup->options), &own->optimizer);
}

static enum syn_status open_state(const struct syn_store_setup *setup, void **state)
{
    struct replicas *own;
    SYN_TRY(syn_allocate(1, sizeof *own, &own));
    enum syn_status status = open_parts(own, setup);
    if (status != SYN_OK) {
        close_state(own);
        return status;
    }
    *state = own;
    return SYN_OK;
}

/* Added in the same order as by shards, so that both have the same bits. */
static double norm_of(const struct replicas *own, const float *sum)
{
    double square = 0;
    for (size_t rank = 0; rank < own->workers; rank++) {
        struct syn_chunk chunk = syn_chunk_of(own->size, own->workers, rank + 1);
        square += syn_norm_square(sum + chunk.first, chunk.count);
    }
    return sqrt(square);
}

/* In units of weights, the sum is already lr times a gradient. */
static enum syn_status apply(void *state, const struct syn_merged *merged, double lr,
                             struct syn_trial *trial)
{
    struct replicas *own = state;
    if (!merged)
        return syn_optimizer_try(own->optimizer, own->weights, trial);
    double scale = 1 / ((double)own->workers * (own->sends_updates ? lr : 1));
    if (merged->dense && own->longest > 0)
        scale *= syn_norm_scale(scale * norm_of(own, merged->dense), own->longest);
    struct syn_optimizer_sum sum = {.dense = merged->dense,
                                    .indices = merged->index,
                                    .values = merged->value,
                                    .count = merged->count};
    return syn_optimizer_apply_and_try(own->optimizer, lr, scale, &sum, own->weights, trial);
}

static enum syn_status tune(void *state, const struct syn_optimizer_options *options,
                            const struct syn_layout *layout)
{
    struct replicas *own = state;
    return syn_optimizer_tune(own->optimizer, options, layout);
}

static const float *pulled(const void *state)
{
    const struct replicas *own = state;
    return own->weights;
}

static enum syn_status save(void *state, struct syn_archive *archive)
{
    struct replicas *own = state;
    SYN_TRY(syn_archive_add(archive, "store/weights", own->weights, own->size * sizeof(float)));
    return syn_store_save_optimizer(own->optimizer, SYN_STORE_OPTIMIZER, archive);
}

static enum syn_status load(void *state, const struct syn_archive *archive)
{
    struct replicas *own = state;
    SYN_TRY(syn_archive_copy(archive, "store/weights", own->weights, own->size * sizeof(float)));
    return syn_store_load_optimizer(own->optimizer, SYN_STORE_OPTIMIZER, archive);
}

/* Weights and optimizer are the same in all archives. */
static enum syn_status load_regrouped(void *state, const struct syn_archive *const *archives,
                                      size_t count, float *weights)
{
    struct replicas *own = state;
    (void)count;
    SYN_TRY(load(own, archives[0]));
    memcpy(weights, own->weights, own->size * sizeof(float));
    return SYN_OK;
}

const struct syn_store_type syn_store_replicas = {
    .part = {"replicas", "every worker has all weights and applies every sum; no weights are sent"},
    .open = open_state,
    .apply = apply,
    .tries = true,
    .tune = tune,
    .pulled = pulled,
    .pulled_stays = true,
    .save = save,
    .load = load,
    .load_regrouped = load_regrouped,
    .close = close_state,
};

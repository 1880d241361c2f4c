/* Every worker has all the global weights and applies every merged gradient to them: no weights
 * travel. Right for sparse exchanges, whose sums are small, and for plain synchronous SGD. The
 * merged gradient has the same bits on every worker, hence so have the weights. */
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "reducer/inside.h"
#include "worker/store.h"

#define MOST_WINDOW 16

struct replicas {
    struct syn_reducer *reducer;
    struct syn_optimizer *optimizer;
    float *weights; /* [size] */
    size_t size;
    size_t workers;
    bool sends_updates;
    bool is_started; /* the next push has been announced */
    size_t window;
    size_t open;   /* pushes unanswered */
    size_t oldest; /* place of the first of them */
    struct {
        struct syn_ticket ticket;
        double lr;
        float *copy; /* [size] the gradient, where it would be overwritten too early; or NULL */
    } pushes[MOST_WINDOW];
    struct syn_cost cost;
};

static void close_state(void *state)
{
    struct replicas *own = state;
    if (!own)
        return;
    syn_reducer_close(own->reducer);
    syn_optimizer_free(own->optimizer);
    for (size_t i = 0; i < MOST_WINDOW; i++)
        free(own->pushes[i].copy);
    free(own->weights);
    free(own);
}

static enum syn_status open_parts(struct replicas *own, const struct syn_store_setup *setup)
{
    struct syn_reducer_options reducer = setup->options->reducer;
    own->size = syn_layout_size(setup->layout);
    own->workers = syn_group_size(setup->group);
    own->window = (size_t)setup->options->window;
    own->sends_updates = setup->options->send_updates;
    reducer.depth = setup->options->window;
    SYN_TRY(syn_allocate(own->size, sizeof *own->weights, &own->weights));
    memcpy(own->weights, setup->weights, own->size * sizeof *own->weights);
    SYN_TRY(syn_optimizer_open(&setup->options->optimizer, own->size, &own->optimizer));
    SYN_TRY(syn_reducer_open(setup->group, setup->layout, &reducer, &own->reducer));
    /* A reducer with a residual has read the gradient when begin returns. */
    bool reads_late = setup->is_delayed && !syn_reducer_residual(own->reducer);
    for (size_t i = 0; i < own->window && reads_late; i++)
        SYN_TRY(syn_allocate(own->size, sizeof(float), &own->pushes[i].copy));
    return SYN_OK;
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

static struct syn_step step_of(const struct replicas *own, const struct syn_rates *rates)
{
    struct syn_step step = syn_reducer_step(own->reducer);
    if (rates->density > 0)
        step.density = rates->density;
    if (own->sends_updates)
        step.scale = (float)rates->lr;
    return step;
}

/* Wait for the oldest push and apply its sum. In units of weights the sum is lr times a gradient
 * already. */
static enum syn_status apply_oldest(struct replicas *own)
{
    struct syn_merged merged;
    double lr = own->pushes[own->oldest].lr;
    double scale = 1 / ((double)own->workers * (own->sends_updates ? lr : 1));
    SYN_TRY(syn_reducer_wait(own->reducer, own->pushes[own->oldest].ticket, &merged));
    own->oldest = (own->oldest + 1) % own->window;
    own->open--;
    syn_cost_add(&own->cost, &merged.cost);
    if (merged.dense)
        return syn_optimizer_apply(own->optimizer, lr, scale, merged.dense, own->weights);
    return syn_optimizer_apply_sparse(own->optimizer, lr, scale, merged.index, merged.value,
                                      merged.count, own->weights);
}

static enum syn_status drain(void *state, size_t left)
{
    struct replicas *own = state;
    while (own->open > left)
        SYN_TRY(apply_oldest(own));
    return SYN_OK;
}

static enum syn_status start(void *state, const float *gradient, const struct syn_rates *rates)
{
    struct replicas *own = state;
    SYN_TRY(drain(own, own->window - 1));
    size_t place = (own->oldest + own->open) % own->window;
    struct syn_step step = step_of(own, rates);
    SYN_TRY(syn_reducer_start(own->reducer, gradient, &step, &own->pushes[place].ticket));
    own->pushes[place].lr = rates->lr;
    own->is_started = true;
    return SYN_OK;
}

static enum syn_status ready(void *state, size_t tensor)
{
    struct replicas *own = state;
    return syn_reducer_ready(own->reducer, tensor);
}

static enum syn_status push(void *state, const float *gradient, const struct syn_rates *rates,
                            bool pulls)
{
    struct replicas *own = state;
    (void)pulls; /* the weights are here anyway */
    if (!own->is_started) {
        SYN_TRY(drain(own, own->window - 1));
        size_t place = (own->oldest + own->open) % own->window;
        float *copy = own->pushes[place].copy;
        struct syn_step step = step_of(own, rates);
        if (copy)
            memcpy(copy, gradient, own->size * sizeof *copy);
        SYN_TRY(syn_reducer_begin(own->reducer, copy ? copy : gradient, &step,
                                  &own->pushes[place].ticket));
        own->pushes[place].lr = rates->lr;
    }
    own->is_started = false;
    own->open++;
    return SYN_OK;
}

static enum syn_status take(void *state, const float **weights)
{
    struct replicas *own = state;
    SYN_TRY(drain(own, 0));
    *weights = own->weights;
    return SYN_OK;
}

static enum syn_status settle(void *state, float *weights)
{
    struct replicas *own = state;
    SYN_TRY(drain(own, 0));
    memcpy(weights, own->weights, own->size * sizeof *weights);
    return SYN_OK;
}

static struct syn_courier *courier(void *state)
{
    struct replicas *own = state;
    return own->reducer->courier;
}

static struct syn_cost cost(void *state)
{
    struct replicas *own = state;
    struct syn_cost spent = own->cost;
    own->cost = (struct syn_cost){0};
    return spent;
}

static const float *residual(void *state)
{
    struct replicas *own = state;
    return syn_reducer_residual(own->reducer);
}

static enum syn_status save(void *state, struct syn_archive *archive)
{
    struct replicas *own = state;
    size_t count = syn_reducer_state_bytes(own->reducer);
    void *bytes = malloc(count);
    if (!bytes)
        return syn_fail(SYN_MEMORY, "cannot allocate %zu bytes of reducer state", count);
    enum syn_status status = syn_reducer_save(own->reducer, bytes);
    if (status == SYN_OK)
        status = syn_archive_add(archive, "store/reducer", bytes, count);
    free(bytes);
    SYN_TRY(status);
    SYN_TRY(syn_archive_add(archive, "store/weights", own->weights, own->size * sizeof(float)));
    return syn_store_save_optimizer(own->optimizer, archive);
}

static enum syn_status load_global(struct replicas *own, const struct syn_archive *archive)
{
    SYN_TRY(syn_archive_copy(archive, "store/weights", own->weights, own->size * sizeof(float)));
    return syn_store_load_optimizer(own->optimizer, archive);
}

static enum syn_status load(void *state, const struct syn_archive *archive)
{
    struct replicas *own = state;
    struct syn_section section = {0};
    SYN_TRY(syn_archive_find(archive, "store/reducer", &section));
    SYN_TRY(syn_reducer_load(own->reducer, section.bytes, section.count));
    return load_global(own, archive);
}

/* Weights and optimizer are the same in all archives. */
static enum syn_status load_regrouped(void *state, const struct syn_archive *const *archives,
                                      size_t count, float *weights)
{
    struct replicas *own = state;
    const void **states = calloc(count, sizeof *states);
    size_t *counts = calloc(count, sizeof *counts);
    enum syn_status status = states && counts ? SYN_OK : syn_fail(SYN_MEMORY, "no memory");
    for (size_t i = 0; i < count && status == SYN_OK; i++) {
        struct syn_section section = {0};
        status = syn_archive_find(archives[i], "store/reducer", &section);
        states[i] = section.bytes;
        counts[i] = section.count;
    }
    if (status == SYN_OK)
        status = syn_reducer_load_regrouped(own->reducer, states, counts, count);
    free(states);
    free(counts);
    SYN_TRY(status);
    SYN_TRY(load_global(own, archives[0]));
    memcpy(weights, own->weights, own->size * sizeof(float));
    return SYN_OK;
}

const struct syn_store_type syn_store_replicas = {
    .part = {"replicas", "every worker has all weights and applies every sum; no weights travel"},
    .open = open_state,
    .start = start,
    .ready = ready,
    .push = push,
    .drain = drain,
    .take = take,
    .settle = settle,
    .courier = courier,
    .cost = cost,
    .residual = residual,
    .save = save,
    .load = load,
    .load_regrouped = load_regrouped,
    .close = close_state,
};

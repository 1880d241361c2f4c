/* Parameter servers: members of the group that do nothing else keep the global weights, a shard
 * each. A push goes to all of them, in whatever form the reducer's first half makes (dense, halves,
 * lists, signs), and the weights come back when they are asked for: dense SGD moves 2 times the
 * model a step, (1 + 1/k) when only every k-th step pulls.
 *
 * The servers' side is server.c; what is said is in mail.h. */
#include <stdlib.h>

#include "base/memory.h"
#include "schedule/schedule.h"
#include "worker/client.h"
#include "worker/pushes.h"

struct servers {
    struct syn_client *client;
    struct syn_pushes pushes;
    struct syn_cost cost;
};

static enum syn_status check(const struct syn_worker_options *options)
{
    const struct syn_reducer_options *reducer = &options->reducer;
    if (syn_exchange_find(reducer->exchange)->merges_on_the_way)
        return syn_fail(SYN_INVALID,
                        "exchange %s merges lists between workers, but store servers adds them on "
                        "the servers; use exchange allgather",
                        reducer->exchange);
    if (syn_schedule_find(options->schedule)->is_async && reducer->bucket_bytes > 0)
        return syn_fail(SYN_INVALID,
                        "schedule %s applies whole gradients; bucket-bytes must be 0, not %llu",
                        options->schedule, (unsigned long long)reducer->bucket_bytes);
    return SYN_OK;
}

static void close_state(void *state)
{
    struct servers *own = state;
    if (!own)
        return;
    if (own->pushes.reducer)
        syn_client_farewell(own->client, own->pushes.reducer->courier);
    syn_pushes_close(&own->pushes);
    syn_client_close(own->client);
    free(own);
}

static enum syn_status open_state(const struct syn_store_setup *setup, void **state)
{
    struct servers *own;
    SYN_TRY(syn_allocate(1, sizeof *own, &own));
    enum syn_status status = syn_client_open(setup, &own->client);
    if (status == SYN_OK)
        status = syn_pushes_open(&own->pushes, setup, &syn_client_exchange, own->client);
    if (status != SYN_OK) {
        close_state(own);
        return status;
    }
    *state = own;
    return SYN_OK;
}

static enum syn_status drain(void *state, size_t left)
{
    struct servers *own = state;
    while (own->pushes.open > left) {
        struct syn_merged none;
        double lr;
        uint64_t staleness;
        size_t place = own->pushes.oldest;
        SYN_TRY(syn_pushes_finish(&own->pushes, &none, &lr));
        if (syn_client_recall(own->client, place, &staleness)) {
            none.cost.answers = 1;
            none.cost.staleness = (double)staleness;
            none.cost.staleness_most = staleness;
        }
        syn_cost_add(&own->cost, &none.cost);
    }
    return SYN_OK;
}

/* Steps that are announced are synchronous, and all of these pull. */
static enum syn_status start(void *state, const float *gradient, const struct syn_rates *rates)
{
    struct servers *own = state;
    SYN_TRY(drain(own, own->pushes.window - 1));
    syn_client_note(own->client, syn_pushes_place(&own->pushes), rates->lr, true);
    return syn_pushes_start(&own->pushes, gradient, rates);
}

static enum syn_status ready(void *state, size_t tensor)
{
    struct servers *own = state;
    return syn_reducer_ready(own->pushes.reducer, tensor);
}

static enum syn_status push(void *state, const float *gradient, const struct syn_rates *rates,
                            bool pulls)
{
    struct servers *own = state;
    if (!own->pushes.is_started) {
        SYN_TRY(drain(own, own->pushes.window - 1));
        syn_client_note(own->client, syn_pushes_place(&own->pushes), rates->lr, pulls);
    }
    return syn_pushes_begin(&own->pushes, gradient, rates);
}

static enum syn_status take(void *state, const float **weights)
{
    struct servers *own = state;
    SYN_TRY(drain(own, 0));
    *weights = syn_client_pulled(own->client);
    return SYN_OK;
}

static enum syn_status settle(void *state, float *weights)
{
    struct servers *own = state;
    SYN_TRY(drain(own, 0));
    return syn_client_settle(own->client, own->pushes.reducer->courier, weights, &own->cost);
}

static struct syn_courier *courier(void *state)
{
    struct servers *own = state;
    return own->pushes.reducer->courier;
}

static struct syn_cost cost(void *state)
{
    struct servers *own = state;
    struct syn_cost spent = own->cost;
    own->cost = (struct syn_cost){0};
    return spent;
}

static const float *residual(void *state)
{
    struct servers *own = state;
    return syn_reducer_residual(own->pushes.reducer);
}

const struct syn_store_type syn_store_servers = {
    .part = {"servers", "parameter servers keep a shard of the weights each and apply every push"},
    .check = check,
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
    .close = close_state,
};

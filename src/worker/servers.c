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
    struct syn_pushes pushes; /* first */
    struct syn_client *client;
};

static enum syn_status check(const struct syn_worker_options *options)
{
    const struct syn_reducer_options *reducer = &options->reducer;
    if (syn_exchange_find(reducer->exchange)->merges_on_the_way)
        return syn_fail(SYN_INVALID,
                        "exchange %s merges lists between workers, but store servers adds them on "
                        "the servers; use exchange allgather",
                        reducer->exchange);
    if (syn_value_find(reducer->values)->has_blocks)
        return syn_fail(
            SYN_INVALID,
            "values %s share scales in blocks, which servers would cut; use values f32, "
            "f16 or sign",
            reducer->values);
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
        syn_client_farewell(own->client, own->pushes.reducer->comm);
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
        syn_cost_add(&own->pushes.cost, &none.cost);
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
    return syn_client_settle(own->client, own->pushes.reducer->comm, 0, weights, &own->pushes.cost);
}

/* Everyone saves all of the servers' state, in the form in which replicas save theirs: it is then
 * wherever it is looked for, and does not know how many servers there were. */
static enum syn_status save_rows(struct servers *own, struct syn_archive *archive, float *rows)
{
    size_t size = own->pushes.size;
    size_t count = syn_client_rows(own->client);
    for (size_t row = 0; row < count; row++)
        SYN_TRY(syn_client_settle(own->client, own->pushes.reducer->comm, row, rows + row * size,
                                  &own->pushes.cost));
    SYN_TRY(syn_archive_add(archive, "store/weights", rows, size * sizeof *rows));
    return syn_archive_add(archive, "store/optimizer", rows + size,
                           (count - 1) * size * sizeof *rows);
}

static enum syn_status save(void *state, struct syn_archive *archive)
{
    struct servers *own = state;
    size_t size = own->pushes.size;
    float *rows = malloc((syn_client_rows(own->client) * size + 1) * sizeof *rows);
    if (!rows)
        return syn_fail(SYN_MEMORY, "cannot allocate the state of %zu weights", size);
    enum syn_status status = save_rows(own, archive, rows);
    free(rows);
    SYN_TRY(status);
    SYN_TRY(syn_archive_add(archive, "store/pulled", syn_client_pulled(own->client),
                            size * sizeof(float)));
    return syn_pushes_save(&own->pushes, archive);
}

/* A section of the archive that has so many rows of floats. */
static enum syn_status find_rows(const struct servers *own, const struct syn_archive *archive,
                                 const char *name, size_t rows, const float **floats)
{
    struct syn_section section = {0};
    size_t expected = rows * own->pushes.size * sizeof **floats;
    SYN_TRY(syn_archive_find(archive, name, &section));
    if (section.count != expected)
        return syn_fail(SYN_FORMAT, "section \"%s\" has %zu bytes; expected %zu", name,
                        section.count, expected);
    *floats = section.bytes;
    return SYN_OK;
}

/* Ends when everyone has the restored weights, so that nobody pushes before.
 *   weights  [size] */
static enum syn_status load_rows(struct servers *own, const struct syn_archive *archive,
                                 float *weights)
{
    struct syn_comm *comm = own->pushes.reducer->comm;
    size_t memories = syn_client_rows(own->client) - 1;
    const float *saved;
    const float *memory;
    SYN_TRY(find_rows(own, archive, "store/weights", 1, &saved));
    SYN_TRY(find_rows(own, archive, "store/optimizer", memories, &memory));
    SYN_TRY(syn_client_restore(own->client, comm, 0, saved, &own->pushes.cost));
    for (size_t i = 0; i < memories; i++)
        SYN_TRY(syn_client_restore(own->client, comm, 1 + i, memory + i * own->pushes.size,
                                   &own->pushes.cost));
    return syn_client_settle(own->client, comm, 0, weights, &own->pushes.cost);
}

static enum syn_status load(void *state, const struct syn_archive *archive)
{
    struct servers *own = state;
    const float *pulled;
    SYN_TRY(syn_pushes_load(&own->pushes, archive));
    SYN_TRY(find_rows(own, archive, "store/pulled", 1, &pulled));
    float *weights = malloc((own->pushes.size + 1) * sizeof *weights);
    if (!weights)
        return syn_fail(SYN_MEMORY, "cannot allocate %zu weights", own->pushes.size);
    enum syn_status status = load_rows(own, archive, weights);
    free(weights);
    SYN_TRY(status);
    syn_client_recall_pulled(own->client, pulled);
    return SYN_OK;
}

static enum syn_status load_regrouped(void *state, const struct syn_archive *const *archives,
                                      size_t count, float *weights)
{
    struct servers *own = state;
    SYN_TRY(syn_pushes_load_regrouped(&own->pushes, archives, count));
    return load_rows(own, archives[0], weights);
}

const struct syn_store_type syn_store_servers = {
    .part = {"servers", "parameter servers keep a shard of the weights each and apply every push"},
    .check = check,
    .open = open_state,
    .start = start,
    .ready = syn_pushes_ready,
    .push = push,
    .drain = drain,
    .take = take,
    .settle = settle,
    .comm = syn_pushes_comm,
    .cost = syn_pushes_cost,
    .residual = syn_pushes_residual,
    .save = save,
    .load = load,
    .load_regrouped = load_regrouped,
    .close = close_state,
};

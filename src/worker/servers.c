/* Parameter servers: dedicated members of the group keep the global weights, a shard each. A push
 * goes to all of them, in whatever form the reducer's first half produces (dense, halves, lists,
 * signs), and the weights come back on request: per step, dense SGD moves 2 times the model, or
 * (1 + 1/k) times if only every k-th step pulls.
 *
 * The messages are defined in reducer/message.h. */
#include <stdlib.h>

#include "base/memory.h"
#include "reducer/client.h"
#include "worker/store.h"

static enum syn_status open_state(const struct syn_store_setup *setup, void **state)
{
    struct syn_client *client;
    struct syn_client_setup servers = {
        .group = setup->group, .layout = setup->layout, .options = setup->options};
    SYN_TRY(syn_client_open(&servers, &client));
    *state = client;
    return SYN_OK;
}

static void close_state(void *state)
{
    syn_client_close(state);
}

static void attach(void *state, struct syn_comm *comm, struct syn_cost *cost)
{
    syn_client_attach(state, comm, cost);
}

static const float *pulled(const void *state)
{
    return syn_client_pulled(state);
}

static enum syn_status settle(void *state, float *weights)
{
    return syn_client_settle(state, 0, weights);
}

static void leave(void *state)
{
    syn_client_farewell(state);
}

/* Every worker saves the complete state of the servers, in the same form as replicas: it is then
 * available to each of them and does not depend on the number of servers. */
static enum syn_status save_rows(struct syn_client *client, struct syn_archive *archive,
                                 float *rows)
{
    size_t size = syn_client_size(client);
    size_t count = syn_client_rows(client);
    for (size_t row = 0; row < count; row++)
        SYN_TRY(syn_client_settle(client, row, rows + row * size));
    SYN_TRY(syn_archive_add(archive, "store/weights", rows, size * sizeof *rows));
    return syn_archive_add(archive, "store/optimizer", rows + size,
                           (count - 1) * size * sizeof *rows);
}

static enum syn_status save(void *state, struct syn_archive *archive)
{
    struct syn_client *client = state;
    size_t size = syn_client_size(client);
    float *rows = malloc((syn_client_rows(client) * size + 1) * sizeof *rows);
    if (!rows)
        return syn_fail(SYN_MEMORY, "cannot allocate the state of %zu weights", size);
    enum syn_status status = save_rows(client, archive, rows);
    free(rows);
    SYN_TRY(status);
    return syn_archive_add(archive, "store/pulled", syn_client_pulled(client),
                           size * sizeof(float));
}

/* Find a section of the archive with this many rows of floats. */
static enum syn_status find_rows(const struct syn_client *client, const struct syn_archive *archive,
                                 const char *name, size_t rows, const float **floats)
{
    struct syn_section section = {0};
    size_t expected = rows * syn_client_size(client) * sizeof **floats;
    SYN_TRY(syn_archive_find(archive, name, &section));
    if (section.count != expected)
        return syn_fail(SYN_FORMAT, "section \"%s\" has %zu bytes; expected %zu", name,
                        section.count, expected);
    *floats = section.bytes;
    return SYN_OK;
}

/* Returns when all workers have the restored weights, so that nobody pushes before.
 *   weights  [size] */
static enum syn_status load_rows(struct syn_client *client, const struct syn_archive *archive,
                                 float *weights)
{
    size_t memories = syn_client_rows(client) - 1;
    const float *saved;
    const float *memory;
    SYN_TRY(find_rows(client, archive, "store/weights", 1, &saved));
    SYN_TRY(find_rows(client, archive, "store/optimizer", memories, &memory));
    SYN_TRY(syn_client_restore(client, 0, saved));
    for (size_t i = 0; i < memories; i++)
        SYN_TRY(syn_client_restore(client, 1 + i, memory + i * syn_client_size(client)));
    return syn_client_settle(client, 0, weights);
}

static enum syn_status load(void *state, const struct syn_archive *archive)
{
    struct syn_client *client = state;
    size_t size = syn_client_size(client);
    const float *pulled_last;
    SYN_TRY(find_rows(client, archive, "store/pulled", 1, &pulled_last));
    float *weights = malloc((size + 1) * sizeof *weights);
    if (!weights)
        return syn_fail(SYN_MEMORY, "cannot allocate %zu weights", size);
    enum syn_status status = load_rows(client, archive, weights);
    free(weights);
    SYN_TRY(status);
    syn_client_recall_pulled(client, pulled_last);
    return SYN_OK;
}

static enum syn_status load_regrouped(void *state, const struct syn_archive *const *archives,
                                      size_t count, float *weights)
{
    (void)count;
    return load_rows(state, archives[0], weights);
}

const struct syn_store_type syn_store_servers = {
    .part = {"servers", "parameter servers each keep a shard of the weights and apply every push"},
    .has_servers = true,
    .owners = &syn_client_exchange,
    .open = open_state,
    .attach = attach,
    .pulled = pulled,
    .settle = settle,
    .leave = leave,
    .save = save,
    .load = load,
    .load_regrouped = load_regrouped,
    .close = close_state,
};

/* A bucket is cut by shards, and each server gets its part as one message; the worker waits for all
 * answers together. Selection is over the whole bucket, and rounding is per entry, so neither
 * depends on the number of servers.
 *
 * Everything that sends runs on the communication thread. */
#include "reducer/client.h"

#include <stdlib.h>

#include "base/memory.h"
#include "reducer/message.h"

/* Between this worker and one server. */
struct link {
    struct syn_chunk shard;
    uint8_t *out;
    uint8_t *in;
    size_t in_room;
};

struct syn_client {
    struct syn_group *group;
    struct syn_layout *layout; /* for the names of tensors */
    struct syn_message_form form;
    size_t size;
    size_t servers;
    size_t rows;
    struct link *links;           /* [servers] */
    struct syn_request *requests; /* [2 * servers]: sends, then receives */
    struct syn_list part;         /* the part of a list that lies in a shard */
    float *pulled;                /* [size] */
    uint32_t steps;               /* sent */
    struct syn_comm *comm;
    struct syn_cost *cost;
};

void syn_client_close(struct syn_client *client)
{
    if (!client)
        return;
    for (size_t i = 0; client->links && i < client->servers; i++) {
        free(client->links[i].out);
        free(client->links[i].in);
    }
    free(client->links);
    free(client->requests);
    free(client->pulled);
    syn_list_close(&client->part);
    syn_layout_free(client->layout);
    free(client);
}

static enum syn_status allocate(struct syn_client *client, const struct syn_client_setup *setup)
{
    client->group = setup->group;
    client->size = syn_layout_size(setup->layout);
    client->servers = syn_group_servers(setup->group);
    client->rows = syn_message_rows(&setup->options->optimizer);
    client->form = syn_message_form_of(setup->options, setup->layout);
    SYN_TRY(syn_layout_copy(setup->layout, &client->layout));
    SYN_TRY(syn_allocate(client->servers, sizeof *client->links, &client->links));
    SYN_TRY(syn_allocate(2 * client->servers, sizeof *client->requests, &client->requests));
    SYN_TRY(syn_allocate(client->size, sizeof(float), &client->pulled));
    for (size_t i = 0; i < client->servers; i++) {
        struct link *link = &client->links[i];
        link->shard = syn_message_shard(setup->group, client->size, i);
        link->in_room = syn_message_answer_room(link->shard.count);
        SYN_TRY(
            syn_allocate(1, syn_message_push_room(&client->form, link->shard.count), &link->out));
        SYN_TRY(syn_allocate(1, link->in_room, &link->in));
    }
    return syn_list_open(&client->part, client->form.is_dense ? 0 : client->form.limit);
}

enum syn_status syn_client_open(const struct syn_client_setup *setup, struct syn_client **client)
{
    struct syn_client *made;
    SYN_TRY(syn_allocate(1, sizeof *made, &made));
    enum syn_status status = allocate(made, setup);
    if (status != SYN_OK) {
        syn_client_close(made);
        return status;
    }
    *client = made;
    return SYN_OK;
}

void syn_client_attach(struct syn_client *client, struct syn_comm *comm, struct syn_cost *cost)
{
    client->comm = comm;
    client->cost = cost;
}

size_t syn_client_size(const struct syn_client *client)
{
    return client->size;
}

void syn_client_recall_pulled(struct syn_client *client, const float *weights)
{
    memcpy(client->pulled, weights, client->size * sizeof *weights);
}

size_t syn_client_rows(const struct syn_client *client)
{
    return client->rows;
}

const float *syn_client_pulled(const struct syn_client *client)
{
    return client->pulled;
}

/* The entries of the bucket that lie in a shard, counted from the bucket's first. */
static struct syn_chunk overlap(const struct syn_contribution *in, struct syn_chunk shard)
{
    size_t end = in->first + in->about.size;
    size_t shard_end = shard.first + shard.count;
    size_t from = shard.first > in->first ? shard.first : in->first;
    size_t to = shard_end < end ? shard_end : end;
    return from < to ? (struct syn_chunk){from - in->first, to - from} : (struct syn_chunk){0, 0};
}

/* Write floats or halves; what is lost by rounding is dropped. Returns the number of bytes. */
static size_t write_dense(const struct syn_client *client, const struct syn_contribution *in,
                          struct syn_outcome *out, struct syn_chunk part, uint8_t *bytes)
{
    const float *x = in->dense + part.first;
    if (client->form.values->is_exact) {
        memcpy(bytes, x, part.count * sizeof *x);
        return part.count * sizeof *x;
    }
    const struct syn_kernels *kernels = syn_kernels();
    float *dropped = out->dense_dropped + part.first;
    uint16_t *half = (uint16_t *)(void *)bytes;
    for (size_t at = 0; at < part.count; at += SYN_BLOCK) {
        float rounded[SYN_BLOCK];
        size_t count = part.count - at < SYN_BLOCK ? part.count - at : SYN_BLOCK;
        kernels->to_half(half + at, x + at, count);
        kernels->from_half(rounded, half + at, count);
        for (size_t i = 0; i < count; i++)
            dropped[at + i] = x[at + i] - rounded[i];
    }
    return part.count * sizeof *half;
}

/* Write this part of the list as a separate packet. Its values have been rounded already; rounding
 * them again does not change them. Returns the number of bytes. */
static size_t write_list(struct syn_client *client, const struct syn_contribution *in,
                         struct syn_chunk part, uint32_t limit, uint8_t *bytes)
{
    struct syn_list *list = &client->part;
    struct syn_packet_about about = in->about;
    size_t from = syn_list_find(&in->list, part.first);
    size_t to = syn_list_find(&in->list, part.first + part.count);
    list->count = to - from;
    for (size_t i = from; i < to; i++)
        list->index[i - from] = in->list.index[i] - (uint32_t)part.first;
    memcpy(list->value, in->list.value + from, list->count * sizeof *list->value);
    about.size = (uint32_t)part.count;
    about.limit = limit;
    /* If all values have one magnitude, the first has it too. */
    float scale = list->count > 0 ? syn_from_magnitude(syn_magnitude(list->value[0])) : 0;
    return syn_packet_encode(&about, client->form.values, client->form.indices, scale, list, bytes);
}

/* Write the message for one server. Returns its size, or 0 if there is nothing to send. */
static size_t write_push(struct syn_client *client, const struct link *link,
                         const struct syn_contribution *in, struct syn_outcome *out)
{
    struct syn_chunk part = overlap(in, link->shard);
    if (part.count == 0 && !in->is_last)
        return 0;
    size_t limit = in->about.limit < part.count ? in->about.limit : part.count;
    struct syn_message_head head = {
        .lr = in->lr,
        .magic = SYN_MESSAGE_MAGIC,
        .kind = SYN_MESSAGE_PUSH,
        .flags = (in->is_last ? SYN_MESSAGE_ENDS : 0U) | (in->pulls ? SYN_MESSAGE_PULLS : 0U),
        .step = client->steps,
        .bucket = in->about.bucket,
        .first = (uint32_t)(part.count ? in->first + part.first - link->shard.first : 0),
        .count = (uint32_t)part.count,
        .limit = (uint32_t)limit,
    };
    uint8_t *body = link->out + sizeof head;
    if (part.count > 0)
        head.bytes = client->form.is_dense ? write_dense(client, in, out, part, body)
                                           : write_list(client, in, part, head.limit, body);
    memcpy(link->out, &head, sizeof head);
    return sizeof head + head.bytes;
}

/* The number of the server that is peer number i of a round. */
static size_t server_at(const struct syn_client *client, struct syn_peers peers, size_t i)
{
    return syn_peer_at(syn_message_members(client->group), peers, i) - client->group->workers;
}

static enum syn_status send_to(struct syn_client *client, size_t server, size_t bytes)
{
    return syn_group_send(client->group, client->group->workers + server, client->links[server].out,
                          bytes, &client->requests[server]);
}

/* Post receives before the sends that follow, if servers are to answer. */
static enum syn_status begin(struct syn_client *client, bool is_answered)
{
    struct syn_peers from = syn_message_round(client->group, true).receive;
    memset(client->requests, 0, 2 * client->servers * sizeof *client->requests);
    for (size_t i = 0; i < from.count && is_answered; i++) {
        size_t server = server_at(client, from, i);
        const struct link *link = &client->links[server];
        SYN_TRY(syn_group_receive(client->group, client->group->workers + server, link->in,
                                  link->in_room, &client->requests[client->servers + server]));
    }
    return SYN_OK;
}

/* Wait for all requests that were started; a failure to start one is reported first. */
static enum syn_status wait_for_all(struct syn_client *client, enum syn_status status)
{
    if (status != SYN_OK)
        syn_group_abandon(client->group, status, syn_error_text());
    return syn_group_wait(client->group, client->requests, 2 * client->servers);
}

/* Read all servers' answers to that step.
 *   weights  [size]
 *   stalest  the largest staleness of any shard */
static enum syn_status read_answers(struct syn_client *client, bool are_halves, uint32_t step,
                                    float *weights, uint64_t *stalest)
{
    size_t width = are_halves ? sizeof(uint16_t) : sizeof(float);
    *stalest = 0;
    for (size_t i = 0; i < client->servers; i++) {
        const struct link *link = &client->links[i];
        size_t came = client->requests[client->servers + i].count;
        struct syn_answer_head head = {0};
        const uint8_t *body = link->in + sizeof head;
        size_t expected = sizeof head + link->shard.count * width;
        memcpy(&head, link->in, sizeof head);
        if (came != expected || head.step != step)
            return syn_fail(SYN_FORMAT,
                            "server %zu answers step %u with %zu bytes; expected step %u, %zu", i,
                            head.step, came, step, expected);
        float *to = weights + link->shard.first;
        if (are_halves)
            syn_kernels()->from_half(to, (const uint16_t *)(const void *)body, link->shard.count);
        else
            memcpy(to, body, link->shard.count * sizeof *to);
        *stalest = head.staleness > *stalest ? head.staleness : *stalest;
    }
    return SYN_OK;
}

/* The last bucket of a step has been sent. */
static enum syn_status end_step(struct syn_client *client, const struct syn_contribution *in,
                                struct syn_outcome *out)
{
    uint32_t step = client->steps++;
    if (!in->pulls)
        return SYN_OK;
    out->is_answered = true;
    return read_answers(client, client->form.pulls_halves, step, client->pulled, &out->staleness);
}

static enum syn_status run(void *state, const struct syn_contribution *in, struct syn_outcome *out)
{
    struct syn_client *client = state;
    struct syn_peers to = syn_message_round(client->group, false).send;
    out->is_nonfinite = false;
    out->merged.count = 0;
    out->dropped.count = 0;
    if (in->is_nonfinite)
        return syn_fail_nonfinite(client->layout, "gradient", in->first + in->nonfinite_entry);
    enum syn_status status = begin(client, in->is_last && in->pulls);
    for (size_t i = 0; i < to.count && status == SYN_OK; i++) {
        size_t server = server_at(client, to, i);
        size_t bytes = write_push(client, &client->links[server], in, out);
        if (bytes > 0)
            status = send_to(client, server, bytes);
    }
    SYN_TRY(wait_for_all(client, status));
    return in->is_last ? end_step(client, in, out) : SYN_OK;
}

static size_t nothing_comes(const struct syn_exchange_setup *setup)
{
    (void)setup;
    return 0;
}

const struct syn_exchange_type syn_client_exchange = {
    .part = {"servers", "to each server its part"},
    .keeps_sums = true,
    .merged_most = nothing_comes,
    .dropped_most = nothing_comes,
    .run = run,
};

/* Any other request to all servers, on the communication thread. */
struct request {
    struct syn_work work; /* first, so that a pointer to it is one to its request */
    struct syn_client *client;
    enum syn_message_kind kind;
    size_t row;
    float *asked;       /* [size] where answers are stored, or NULL */
    const float *given; /* [size] to send along, or NULL */
};

/* Write the message for one server. Returns its size. */
static size_t write_request(const struct syn_client *client, const struct link *link,
                            const struct request *request)
{
    struct syn_message_head head = {.magic = SYN_MESSAGE_MAGIC,
                                    .kind = (uint32_t)request->kind,
                                    .step = client->steps,
                                    .bucket = (uint32_t)request->row};
    if (request->given) {
        head.bytes = link->shard.count * sizeof(float);
        memcpy(link->out + sizeof head, request->given + link->shard.first, head.bytes);
    }
    memcpy(link->out, &head, sizeof head);
    return sizeof head + head.bytes;
}

static enum syn_status ask_all(struct syn_client *client, const struct request *request)
{
    struct syn_peers to = syn_message_round(client->group, false).send;
    enum syn_status status = begin(client, request->asked != NULL);
    for (size_t i = 0; i < to.count && status == SYN_OK; i++) {
        size_t server = server_at(client, to, i);
        status = send_to(client, server, write_request(client, &client->links[server], request));
    }
    SYN_TRY(wait_for_all(client, status));
    uint64_t unused;
    return request->asked ? read_answers(client, false, client->steps, request->asked, &unused)
                          : SYN_OK;
}

static enum syn_status run_request(struct syn_work *work)
{
    const struct request *request = (const struct request *)work;
    return ask_all(request->client, request);
}

static enum syn_status send_off(struct request *request)
{
    const struct syn_client *client = request->client;
    request->work.run = run_request;
    syn_comm_post(client->comm, &request->work);
    SYN_TRY(syn_comm_wait(client->comm, &request->work));
    request->work.cost.wait_ms = request->work.cost.exchange_ms;
    syn_cost_add(client->cost, &request->work.cost);
    return SYN_OK;
}

enum syn_status syn_client_settle(struct syn_client *client, size_t row, float *floats)
{
    struct request request = {
        .client = client, .kind = SYN_MESSAGE_SETTLE, .row = row, .asked = floats};
    return send_off(&request);
}

enum syn_status syn_client_restore(struct syn_client *client, size_t row, const float *floats)
{
    bool gives = client->group->rank == 0;
    struct request request = {
        .client = client, .kind = SYN_MESSAGE_RESTORE, .row = row, .given = gives ? floats : NULL};
    return send_off(&request);
}

void syn_client_farewell(struct syn_client *client)
{
    struct request request = {.client = client, .kind = SYN_MESSAGE_LEAVE};
    send_off(&request);
}

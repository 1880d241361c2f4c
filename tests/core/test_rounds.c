/* Who talks to whom is written once: what an exchange sends is what its rounds say, and what the
 * simulator sends. A transport that takes notes stands between exchange and threads. */
#include "check.h"

#include <math.h>
#include <stdlib.h>

#include "exchange/exchange.h"
#include "simulate/member.h"
#include "topology/owners.h"
#include "workers.h"

enum { MESSAGES_MOST = 512, ENTRIES = 4, SIM_STEPS = 4 };

struct message {
    size_t to;
    double bytes;
};

/* What one worker has sent, in its order. */
struct log {
    struct message sent[MESSAGES_MOST];
    size_t count;
};

static struct log real_logs[WORKERS_MOST];
static struct log simulated_logs[WORKERS_MOST];

static void note(struct log *log, size_t to, double bytes)
{
    if (log->count < MESSAGES_MOST)
        log->sent[log->count++] = (struct message){to, bytes};
}

static const struct syn_transport_type *beneath;

static enum syn_status start_noted(struct syn_group *group, struct syn_request *request)
{
    if (!request->is_receive)
        note(&real_logs[group->rank], request->peer, (double)request->count);
    return beneath->start(group, request);
}

struct play {
    const struct syn_exchange_type *type;
    struct syn_transport_type noting;
    enum syn_status status[WORKERS_MOST];
};

/* Lists of all workers have the same entries, as many of each owner: so every list, piece and sum
 * has a length that is known. */
static void fill_list(struct syn_list *list, size_t workers)
{
    for (uint32_t entry = 0; entry < workers * SYN_OWNED_BLOCK; entry++)
        if (entry % SYN_OWNED_BLOCK < ENTRIES)
            syn_list_append(list, entry, (float)(entry + 1));
}

static enum syn_status exchange_lists(const struct syn_exchange_type *type,
                                      const struct syn_exchange_setup *setup, void *state)
{
    struct syn_contribution in = {
        .about = {.size = (uint32_t)setup->size, .limit = (uint32_t)setup->limit}};
    struct syn_outcome out = {0};
    uint8_t *packet =
        malloc(syn_packet_bound(setup->values, setup->indices, setup->limit, setup->size));
    SYN_TRY(syn_list_open(&in.list, setup->limit));
    SYN_TRY(syn_list_open(&out.merged, type->merged_most(setup)));
    SYN_TRY(syn_list_open(&out.dropped, type->dropped_most(setup)));
    fill_list(&in.list, setup->group->workers);
    in.packet = packet;
    in.packet_bytes =
        syn_packet_encode(&in.about, setup->values, setup->indices, 0, &in.list, packet);
    enum syn_status status = type->run(state, &in, &out);
    if (status == SYN_OK && out.merged.count != setup->limit)
        status = syn_fail(SYN_FORMAT, "%zu entries came out", out.merged.count);
    syn_list_close(&in.list);
    syn_list_close(&out.merged);
    syn_list_close(&out.dropped);
    free(packet);
    return status;
}

static enum syn_status exchange_arrays(const struct syn_exchange_type *type,
                                       const struct syn_exchange_setup *setup, void *state)
{
    float *gradient = calloc(setup->size, sizeof *gradient);
    float *sum = calloc(setup->size, sizeof *sum);
    struct syn_contribution in = {.about = {.size = (uint32_t)setup->size}, .dense = gradient};
    struct syn_outcome out = {.dense = sum};
    enum syn_status status = type->run(state, &in, &out);
    free(gradient);
    free(sum);
    return status;
}

/* The thread that answers for idle groups looks at it too. */
static void set_type(struct syn_group *group, const struct syn_transport_type *type)
{
    pthread_mutex_lock(&group->mutex);
    group->type = type;
    pthread_mutex_unlock(&group->mutex);
}

static void exchange_once(struct syn_group *group, size_t rank, void *context)
{
    struct play *play = context;
    const struct syn_exchange_type *type = play->type;
    struct syn_exchange_setup setup = {.group = group,
                                       .size = group->workers * SYN_OWNED_BLOCK,
                                       .limit = group->workers * ENTRIES,
                                       .values = syn_value_find("f32"),
                                       .indices = syn_index_find("raw"),
                                       .keep = 1};
    void *state = NULL;
    set_type(group, &play->noting);
    play->status[rank] = type->open(&setup, &state);
    if (play->status[rank] == SYN_OK)
        play->status[rank] =
            (type->is_dense ? exchange_arrays : exchange_lists)(type, &setup, state);
    type->close(state);
    set_type(group, beneath);
}

/* Record one exchange of that many workers. */
static void run_exchange(const struct syn_exchange_type *type, size_t workers)
{
    struct syn_group *groups[1];
    struct play play = {.type = type};
    assert_ok(syn_group_open_threads(1, NULL, groups));
    beneath = groups[0]->type;
    syn_group_close(groups[0]);
    play.noting = *beneath;
    play.noting.start = start_noted;
    for (size_t w = 0; w < workers; w++)
        real_logs[w].count = 0;
    run_workers(workers, 20000, exchange_once, &play);
    for (size_t w = 0; w < workers; w++)
        assert_int_equal(play.status[w], SYN_OK);
}

static void note_simulated(void *context, size_t from, size_t to, double bytes)
{
    (void)context;
    note(&simulated_logs[from], to, bytes);
}

static void simulate_exchange(const struct syn_exchange_type *type, size_t workers, double bytes)
{
    struct syn_cluster cluster = {.workers = workers,
                                  .latency_ms = 1,
                                  .bytes_per_ms = 1000,
                                  .compute_ms = 10,
                                  .steps = SIM_STEPS};
    struct syn_traffic traffic = {
        .pattern = type->part.name, .pull_every = 1, .bytes = bytes, .pull_bytes = bytes};
    struct syn_watch watch = {.sent = note_simulated};
    struct syn_simulation result;
    for (size_t w = 0; w < workers; w++)
        simulated_logs[w].count = 0;
    assert_ok(syn_simulate_watched(&cluster, &traffic, watch, &result));
}

/* The simulator goes on for several steps; the messages of each are those of the one exchange. It
 * does not count heads of packets. */
static void compare(const struct syn_exchange_type *type, size_t workers, size_t worker)
{
    const struct log *real = &real_logs[worker];
    const struct log *simulated = &simulated_logs[worker];
    double head = type->is_dense ? 0 : SYN_PACKET_HEAD;
    if ((real->count == 0) != (simulated->count == 0) || simulated->count < real->count)
        fail_msg("%s, worker %zu of %zu sent %zu messages; simulated are %zu", type->part.name,
                 worker, workers, real->count, simulated->count);
    for (size_t i = 0; i < simulated->count; i++) {
        struct message sent = real->sent[i % real->count];
        struct message told = simulated->sent[i];
        if (sent.to != told.to || fabs(sent.bytes - head - told.bytes) > 1e-6)
            fail_msg("%s, worker %zu of %zu, message %zu: %g bytes to %zu; simulated %g to %zu",
                     type->part.name, worker, workers, i % real->count, sent.bytes - head, sent.to,
                     told.bytes, told.to);
    }
}

static void every_exchange_sends_what_is_simulated(void **state)
{
    (void)state;
    for (size_t workers = 1; workers <= WORKERS_MOST; workers++)
        for (size_t i = 0; syn_exchange_row(i); i++) {
            const struct syn_exchange_type *type = syn_exchange_row(i);
            double entries = (double)(workers * ENTRIES);
            double floats = (double)(workers * SYN_OWNED_BLOCK);
            run_exchange(type, workers);
            simulate_exchange(type, workers, type->is_dense ? 4 * floats : 8 * entries);
            for (size_t w = 0; w < workers; w++)
                compare(type, workers, w);
        }
}

/* Add up, over all rounds, what a goes to b; each message must have one who receives it. */
static void count_messages(syn_rounds *rounds, struct syn_members members, int *balance)
{
    size_t count = members.workers + members.servers;
    for (size_t m = 0; m < count; m++) {
        struct syn_round round = {0};
        for (size_t n = 0; rounds(members, m, n, &round); n++) {
            assert_true(round.parts > 0);
            for (size_t i = 0; i < round.send.count; i++)
                balance[m * count + syn_peer_at(members, round.send, i)]++;
            for (size_t i = 0; i < round.receive.count; i++)
                balance[syn_peer_at(members, round.receive, i) * count + m]--;
            round = (struct syn_round){0};
        }
    }
}

static void assert_balanced(syn_rounds *rounds, struct syn_members members)
{
    int balance[(WORKERS_MOST + 4) * (WORKERS_MOST + 4)] = {0};
    size_t count = members.workers + members.servers;
    count_messages(rounds, members, balance);
    for (size_t i = 0; i < count * count; i++)
        if (balance[i] != 0)
            fail_msg("%zu workers, %zu servers: %d messages more from %zu to %zu than received",
                     members.workers, members.servers, balance[i], i / count, i % count);
}

static void every_message_is_received(void **state)
{
    (void)state;
    for (size_t workers = 1; workers <= WORKERS_MOST; workers++) {
        for (size_t i = 0; syn_exchange_row(i); i++)
            assert_balanced(syn_exchange_row(i)->rounds, (struct syn_members){workers, 0});
        for (size_t servers = 1; servers <= 4; servers++)
            assert_balanced(syn_servers_rounds, (struct syn_members){workers, servers});
    }
}

static void powers_and_logarithms(void **state)
{
    (void)state;
    for (size_t count = 1; count < 300; count++) {
        size_t power = syn_power_within(count);
        assert_true(power <= count && 2 * power > count && (power & (power - 1)) == 0);
        size_t rounds = syn_log2_up(count);
        assert_true((size_t)1 << rounds >= count &&
                    (rounds == 0 || (size_t)1 << (rounds - 1) < count));
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_exchange_sends_what_is_simulated),
        cmocka_unit_test(every_message_is_received),
        cmocka_unit_test(powers_and_logarithms),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

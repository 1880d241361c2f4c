/* Who talks to whom is written once: what an exchange sends is what its rounds say, and what the
 * simulator sends. A transport that takes notes stands between exchange and threads. */
#include "check.h"

#include <math.h>
#include <stdlib.h>

#include "exchange/exchange.h"
#include "reducer/client.h"
#include "reducer/message.h"
#include "server/server.h"
#include "simulate/member.h"
#include "topology/owners.h"
#include "workers.h"

enum {
    MESSAGES_MOST = 512,
    ENTRIES = 4,
    SIM_STEPS = 4,
    SERVERS_MOST = MEMBERS_MOST - WORKERS_MOST,
    SHARD = 64
};

/* A packet of exactly three fragments, of a model so small that it cannot be sent at once. */
enum {
    LONG_BYTES = 3 * 65536,
    LONG_ENTRIES = (LONG_BYTES - SYN_PACKET_HEAD) / 8,
    LONG_SIZE = 30000
};

struct message {
    size_t to;
    double bytes;
};

/* What one member has sent, in its order. */
struct log {
    struct message sent[MESSAGES_MOST];
    size_t count;
};

static struct log real_logs[MEMBERS_MOST];
static struct log simulated_logs[MEMBERS_MOST];

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
    const struct syn_exchange_type *type; /* or NULL: servers */
    bool is_long;                         /* lists are too long to be sent at once */
    double density;                       /* of exchanges that follow it; 0: everything */
    size_t servers;
    struct syn_transport_type noting;
    enum syn_status status[MEMBERS_MOST];
};

/* Lists of all workers have the same entries, as many of each owner: so every list, portion and sum
 * has a length that is known. */
static void fill_list(struct syn_list *list, size_t workers)
{
    for (uint32_t entry = 0; entry < workers * SYN_OWNED_BLOCK; entry++)
        if (entry % SYN_OWNED_BLOCK < ENTRIES)
            syn_list_append(list, entry, (float)(entry + 1));
}

static void fill_long_list(struct syn_list *list)
{
    for (uint32_t entry = 0; entry < LONG_ENTRIES; entry++)
        syn_list_append(list, entry, 1);
}

static enum syn_status exchange_lists(const struct play *play,
                                      const struct syn_exchange_setup *setup, void *state)
{
    const struct syn_exchange_type *type = play->type;
    struct syn_contribution in = {
        .about = {.size = (uint32_t)setup->size, .limit = (uint32_t)setup->limit},
        .density = play->density};
    struct syn_outcome out = {0};
    uint8_t *packet =
        malloc(syn_packet_bound(setup->values, setup->indices, setup->limit, setup->size));
    SYN_TRY(syn_list_open(&in.list, setup->limit));
    SYN_TRY(syn_list_open(&out.merged, type->merged_most(setup)));
    SYN_TRY(syn_list_open(&out.dropped, type->dropped_most(setup)));
    if (play->is_long)
        fill_long_list(&in.list);
    else
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

static enum syn_status exchange_arrays(const struct play *play,
                                       const struct syn_exchange_setup *setup, void *state)
{
    float *gradient = calloc(setup->size, sizeof *gradient);
    float *sum = calloc(setup->size, sizeof *sum);
    float *dropped = calloc(setup->size, sizeof *dropped);
    struct syn_contribution in = {.about = {.size = (uint32_t)setup->size}, .dense = gradient};
    struct syn_outcome out = {.dense = sum, .dense_dropped = dropped};
    for (size_t i = 0; i < setup->size; i++)
        gradient[i] = i % SYN_OWNED_BLOCK < ENTRIES ? (float)(i + 1) : 0;
    enum syn_status status = play->type->run(state, &in, &out);
    free(gradient);
    free(sum);
    free(dropped);
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
    struct syn_exchange_setup setup = {
        .group = group,
        .size = play->is_long ? (size_t)LONG_SIZE : group->workers * SYN_OWNED_BLOCK,
        .limit = play->is_long ? (size_t)LONG_ENTRIES : group->workers * ENTRIES,
        .values = syn_value_find("f32"),
        .indices = syn_index_find("raw"),
        .keep = 1};
    void *state = NULL;
    set_type(group, &play->noting);
    play->status[rank] = type->open(&setup, &state);
    if (play->status[rank] == SYN_OK)
        play->status[rank] =
            (type->is_dense && play->density == 0 ? exchange_arrays : exchange_lists)(play, &setup,
                                                                                      state);
    type->close(state);
    set_type(group, beneath);
}

/* A worker pushes once, pulls, and leaves. */
static enum syn_status push_once(struct syn_client *client, size_t size)
{
    float *gradient = calloc(size, sizeof *gradient);
    struct syn_contribution in = {.about = {.size = (uint32_t)size},
                                  .is_last = true,
                                  .lr = 0.1,
                                  .pulls = true,
                                  .dense = gradient};
    struct syn_outcome out = {0};
    enum syn_status status = syn_client_exchange.run(client, &in, &out);
    free(gradient);
    return status;
}

static enum syn_status leave(struct syn_group *group)
{
    struct syn_message_head head = {.magic = SYN_MESSAGE_MAGIC, .kind = SYN_MESSAGE_LEAVE};
    for (size_t i = group->workers; i < group->size; i++) {
        struct syn_request request = {0};
        SYN_TRY(syn_group_send(group, i, &head, sizeof head, &request));
        SYN_TRY(syn_group_wait(group, &request, 1));
    }
    return SYN_OK;
}

static enum syn_status work_for(struct syn_group *group, const struct syn_layout *layout,
                                const struct syn_worker_options *options, struct play *play)
{
    struct syn_client *client;
    struct syn_client_setup setup = {group, layout, options};
    SYN_TRY(syn_client_open(&setup, &client));
    set_type(group, &play->noting);
    enum syn_status status = push_once(client, syn_layout_size(layout));
    set_type(group, beneath);
    syn_client_close(client);
    return status == SYN_OK ? leave(group) : status;
}

static enum syn_status serve_for(struct syn_group *group, const struct syn_layout *layout,
                                 const struct syn_worker_options *options, struct play *play)
{
    float *weights = calloc(syn_layout_size(layout), sizeof *weights);
    struct syn_server_setup setup = {
        .group = group, .layout = layout, .options = options, .weights = weights};
    set_type(group, &play->noting);
    enum syn_status status = syn_server_run(&setup);
    set_type(group, beneath);
    free(weights);
    return status;
}

static void serve_once(struct syn_group *group, size_t rank, void *context)
{
    struct play *play = context;
    struct syn_layout *layout = NULL;
    struct syn_worker_options options;
    syn_worker_defaults(&options);
    play->status[rank] = syn_group_appoint(group, play->servers);
    if (play->status[rank] == SYN_OK)
        play->status[rank] = syn_layout_new(&layout);
    if (play->status[rank] == SYN_OK)
        play->status[rank] = syn_layout_add(layout, "all", play->servers * SHARD);
    if (play->status[rank] == SYN_OK)
        play->status[rank] =
            (rank < group->workers ? work_for : serve_for)(group, layout, &options, play);
    syn_layout_free(layout);
}

/* Record what the members of a group send in one exchange. */
static void record(struct play *play, size_t members)
{
    struct syn_group *groups[1];
    assert_ok(syn_group_open_threads(1, NULL, groups));
    beneath = groups[0]->type;
    syn_group_close(groups[0]);
    play->noting = *beneath;
    play->noting.start = start_noted;
    for (size_t i = 0; i < members; i++)
        real_logs[i].count = 0;
    run_workers(members, 20000, play->type ? exchange_once : serve_once, play);
    for (size_t i = 0; i < members; i++)
        assert_int_equal(play->status[i], SYN_OK);
}

static void note_simulated(void *context, size_t from, size_t to, double bytes)
{
    (void)context;
    note(&simulated_logs[from], to, bytes);
}

static void simulate(struct syn_traffic traffic, size_t workers, size_t servers)
{
    struct syn_cluster cluster = {.workers = workers,
                                  .servers = servers,
                                  .latency_ms = 1,
                                  .bytes_per_ms = 1000,
                                  .compute_ms = 10,
                                  .steps = SIM_STEPS};
    struct syn_watch watch = {.sent = note_simulated};
    struct syn_simulation result;
    for (size_t i = 0; i < workers + servers; i++)
        simulated_logs[i].count = 0;
    traffic.pull_every = 1;
    assert_ok(syn_simulate_watched(&cluster, &traffic, watch, &result));
}

/* The simulator goes on for several steps; the messages of each are those of the one exchange. It
 * does not count heads.
 *   head  bytes of one, in front of each message, or all there is of an announcement */
static void compare(const char *name, size_t workers, size_t member, double head)
{
    const struct log *real = &real_logs[member];
    const struct log *simulated = &simulated_logs[member];
    if ((real->count == 0) != (simulated->count == 0) || simulated->count < real->count)
        fail_msg("%s, member %zu of %zu workers sent %zu messages; simulated are %zu", name, member,
                 workers, real->count, simulated->count);
    for (size_t i = 0; i < simulated->count; i++) {
        struct message sent = real->sent[i % real->count];
        struct message expected = simulated->sent[i];
        double bytes = sent.bytes - head;
        if (sent.to != expected.to || fabs(bytes - expected.bytes) > 1e-6)
            fail_msg("%s, member %zu of %zu workers, message %zu: %g bytes to %zu; simulated %g to "
                     "%zu",
                     name, member, workers, i % real->count, bytes, sent.to, expected.bytes,
                     expected.to);
    }
}

static void every_exchange_sends_what_is_simulated(void **state)
{
    (void)state;
    for (size_t workers = 1; workers <= WORKERS_MOST; workers++)
        for (size_t i = 0; syn_exchange_row(i); i++) {
            const struct syn_exchange_type *type = syn_exchange_row(i);
            struct play play = {.type = type};
            double bytes = type->is_dense ? 4 * (double)(workers * SYN_OWNED_BLOCK)
                                          : 8 * (double)(workers * ENTRIES);
            record(&play, workers);
            simulate((struct syn_traffic){.pattern = type->part.name,
                                          .bytes = bytes,
                                          .pull_bytes = bytes},
                     workers, 0);
            for (size_t w = 0; w < workers; w++)
                compare(type->part.name, workers, w, type->is_dense ? 0 : SYN_PACKET_HEAD);
        }
}

/* What is simulated for the options of a row that follows the density is what it sends of a
 * part. */
static void a_part_of_the_entries_is_sent_as_simulated(void **state)
{
    (void)state;
    for (size_t i = 0; syn_exchange_row(i); i++) {
        const struct syn_exchange_type *type = syn_exchange_row(i);
        struct syn_worker_options options;
        struct syn_traffic traffic;
        if (!type->follows_density)
            continue;
        syn_worker_defaults(&options);
        options.reducer.exchange = type->part.name;
        options.reducer.residual = "feedback";
        options.reducer.density = (double)ENTRIES / SYN_OWNED_BLOCK;
        assert_ok(syn_traffic_of(&options, 1000, 0, &traffic));
        for (size_t workers = 1; workers <= WORKERS_MOST; workers++) {
            struct play play = {.type = type, .density = options.reducer.density};
            record(&play, workers);
            traffic.bytes = 8 * (double)(workers * ENTRIES);
            traffic.pull_bytes = traffic.bytes;
            simulate(traffic, workers, 0);
            for (size_t w = 0; w < workers; w++)
                compare(type->part.name, workers, w, SYN_PACKET_HEAD);
        }
    }
}

/* Announcements are heads and nothing else; fragments have none. */
static void take_off_heads(struct log *log)
{
    for (size_t i = 0; i < log->count; i++)
        if (log->sent[i].bytes == SYN_PACKET_HEAD)
            log->sent[i].bytes = 0;
}

static void long_packets_are_passed_on_as_simulated(void **state)
{
    (void)state;
    for (size_t i = 0; syn_exchange_row(i); i++) {
        const struct syn_exchange_type *type = syn_exchange_row(i);
        if (!type->fragments)
            continue;
        for (size_t workers = 1; workers <= WORKERS_MOST; workers++) {
            struct play play = {.type = type, .is_long = true};
            assert_int_equal(type->fragments(LONG_SIZE, workers, LONG_BYTES), 3);
            record(&play, workers);
            simulate((struct syn_traffic){.pattern = type->part.name,
                                          .bytes = LONG_BYTES,
                                          .pull_bytes = LONG_BYTES,
                                          .params = LONG_SIZE},
                     workers, 0);
            for (size_t w = 0; w < workers; w++) {
                take_off_heads(&real_logs[w]);
                compare(type->part.name, workers, w, 0);
            }
        }
    }
}

static void servers_and_their_workers_send_what_is_simulated(void **state)
{
    (void)state;
    for (size_t servers = 1; servers <= SERVERS_MOST; servers++)
        for (size_t workers = 1; workers <= WORKERS_MOST; workers++) {
            struct play play = {.servers = servers};
            double bytes = 4 * (double)(servers * SHARD);
            record(&play, workers + servers);
            simulate((struct syn_traffic){.pattern = SYN_PATTERN_SERVERS,
                                          .bytes = bytes,
                                          .pull_bytes = bytes},
                     workers, servers);
            for (size_t i = 0; i < workers + servers; i++)
                compare("servers", workers, i,
                        i < workers ? (double)sizeof(struct syn_message_head)
                                    : (double)sizeof(struct syn_answer_head));
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
    int balance[MEMBERS_MOST * MEMBERS_MOST] = {0};
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
            for (size_t fragments = 0; fragments < 4; fragments++)
                assert_balanced(syn_exchange_row(i)->rounds,
                                (struct syn_members){.workers = workers, .fragments = fragments});
        for (size_t servers = 1; servers <= SERVERS_MOST; servers++)
            assert_balanced(syn_servers_rounds,
                            (struct syn_members){.workers = workers, .servers = servers});
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
        cmocka_unit_test(a_part_of_the_entries_is_sent_as_simulated),
        cmocka_unit_test(long_packets_are_passed_on_as_simulated),
        cmocka_unit_test(servers_and_their_workers_send_what_is_simulated),
        cmocka_unit_test(every_message_is_received),
        cmocka_unit_test(powers_and_logarithms),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

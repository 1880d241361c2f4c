/* The bridge of the Python package, with a host that is not Python: threads that wait for messages,
 * one for each peer, as those of its transport do. */
#include "check.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "bridge.h"
#include "core/transport_cases.h"

enum { MOST = 7 };

struct message {
    struct message *next;
    size_t count;
    unsigned char frame[SYN_BRIDGE_FRAME_BYTES];
    unsigned char body[];
};

/* The way from one member to another, and who waits at its end. */
struct way {
    pthread_mutex_t mutex;
    pthread_cond_t filled;
    struct message *first;
    bool has_ended;
    size_t from;
    struct syn_bridge *to;
    pthread_t reader;
};

static struct way ways[MOST][MOST]; /* [to][from] */
static _Thread_local size_t self;   /* of the one that posts */

static int post(size_t peer, const void *frame, const void *body, size_t count)
{
    struct way *way = &ways[peer][self];
    struct message *message = malloc(sizeof *message + count);
    message->next = NULL;
    message->count = count;
    memcpy(message->frame, frame, sizeof message->frame);
    if (count > 0)
        memcpy(message->body, body, count);
    pthread_mutex_lock(&way->mutex);
    struct message **end = &way->first;
    while (*end)
        end = &(*end)->next;
    *end = message;
    pthread_cond_signal(&way->filled);
    pthread_mutex_unlock(&way->mutex);
    return 0;
}

/* The next message, or NULL when there will be none. */
static struct message *await_message(struct way *way)
{
    pthread_mutex_lock(&way->mutex);
    while (!way->first && !way->has_ended)
        pthread_cond_wait(&way->filled, &way->mutex);
    struct message *message = way->first;
    if (message)
        way->first = message->next;
    pthread_mutex_unlock(&way->mutex);
    return message;
}

static void *read_all(void *argument)
{
    struct way *way = argument;
    struct message *message;
    while ((message = await_message(way))) {
        syn_bridge_offer(way->to, way->from, message->frame, message->body, message->count);
        syn_bridge_rest(way->to, way->from);
        free(message);
    }
    return NULL;
}

/* One member, on a thread of its own. */
struct member {
    pthread_t thread;
    size_t rank;
    size_t actor;
    transport_case *function;
    struct syn_bridge *bridge;
    struct syn_group *group;
    char wrong[SYN_ERROR_BYTES];
};

static void *act(void *argument)
{
    struct member *member = argument;
    self = member->rank;
    snprintf(member->wrong, sizeof member->wrong, "%s",
             member->function(member->group, member->actor));
    syn_group_close(member->group);
    return NULL;
}

static void open_member(struct member *member, size_t rank, size_t count, uint64_t timeout_ms)
{
    struct syn_group_options options = {.timeout_ms = timeout_ms};
    member->rank = rank;
    member->bridge = syn_bridge_new(count, post);
    assert_non_null(member->bridge);
    assert_ok(syn_bridge_join(member->bridge, rank, &options, &member->group));
    for (size_t from = 0; from < count; from++) {
        struct way *way = &ways[rank][from];
        *way = (struct way){.mutex = PTHREAD_MUTEX_INITIALIZER,
                            .filled = PTHREAD_COND_INITIALIZER,
                            .from = from,
                            .to = member->bridge};
        assert_int_equal(pthread_create(&way->reader, NULL, read_all, way), 0);
    }
}

/* When all have closed; what is still offered is not asked for. */
static void close_member(const struct member *member, size_t count)
{
    for (size_t from = 0; from < count; from++) {
        struct way *way = &ways[member->rank][from];
        syn_bridge_part(member->bridge, from);
        pthread_mutex_lock(&way->mutex);
        way->has_ended = true;
        pthread_cond_signal(&way->filled);
        pthread_mutex_unlock(&way->mutex);
        pthread_join(way->reader, NULL);
    }
    syn_bridge_free(member->bridge);
}

static void perform(size_t count, uint64_t timeout_ms, transport_case *what, size_t actor)
{
    struct member members[MOST] = {{0}};
    for (size_t i = 0; i < count; i++)
        open_member(&members[i], i, count, timeout_ms);
    for (size_t i = 0; i < count; i++) {
        members[i].function = what;
        members[i].actor = actor;
        assert_int_equal(pthread_create(&members[i].thread, NULL, act, &members[i]), 0);
    }
    for (size_t i = 0; i < count; i++)
        pthread_join(members[i].thread, NULL);
    for (size_t i = 0; i < count; i++)
        close_member(&members[i], count);
    for (size_t i = 0; i < count; i++)
        assert_string_equal(members[i].wrong, "");
}

static const size_t worker_counts[] = {1, 2, 3, 5, 7};
enum { WORKER_COUNTS = 5, LONG_MS = 60000 };

static void messages_cross_whole_and_in_order(void **state)
{
    (void)state;
    for (size_t i = 0; i < WORKER_COUNTS; i++) {
        perform(worker_counts[i], LONG_MS, case_every_pair, 0);
        perform(worker_counts[i], LONG_MS, case_many_under_way, 0);
        perform(worker_counts[i], LONG_MS, case_whoever_comes, 0);
    }
}

static void failures_cross_too(void **state)
{
    (void)state;
    perform(5, LONG_MS, case_too_large, 3);
    perform(5, LONG_MS, case_abandon, 4);
    perform(4, 200, case_silent, 1);
    perform(3, 10, case_circle, 0);
    perform(4, 400, case_late_chain, 0);
}

static void *lose(void *bridge)
{
    syn_bridge_fail(bridge, 1);
    return NULL;
}

static void a_peer_that_the_host_has_lost_fails_whoever_waits(void **state)
{
    (void)state;
    struct syn_bridge *bridge = syn_bridge_new(2, post);
    struct syn_request request;
    struct syn_group *group;
    pthread_t thread;
    char byte;
    assert_ok(syn_bridge_join(bridge, 0, NULL, &group));
    assert_ok(syn_group_receive(group, 1, &byte, 1, &request));
    assert_int_equal(pthread_create(&thread, NULL, lose, bridge), 0);
    assert_status(SYN_PEER, syn_group_wait(group, &request, 1));
    assert_non_null(strstr(syn_error_text(), "worker 1"));
    pthread_join(thread, NULL);
    syn_group_close(group);
    syn_bridge_free(bridge);
    syn_bridge_free(NULL);
}

static void means_go_to_their_places_and_are_cleared_again(void **state)
{
    (void)state;
    static const uint32_t index[] = {0, 2, 3, 9};
    static const float value[] = {1, -2, 3, -4};
    float low[4] = {0};
    float high[6] = {0};
    const struct syn_bridge_place places[] = {{0, 3, high}, {3, 4, low}, {7, 3, high + 3}};
    struct syn_merged merged = {.index = index, .value = value, .count = 4};
    syn_bridge_spread(&merged, 0.5F, places, 3);
    assert_memory_equal(high, ((float[]){0.5F, 0, -1, 0, 0, -2}), sizeof high);
    assert_memory_equal(low, ((float[]){1.5F, 0, 0, 0}), sizeof low);
    syn_bridge_clear(&merged, places, 3);
    assert_memory_equal(high, ((float[6]){0}), sizeof high);
    assert_memory_equal(low, ((float[4]){0}), sizeof low);
    assert_int_equal(merged.count, 0);

    static const float dense[] = {0, 1, 2, 3, 4, 5, 6, 7, 8, 9};
    merged = (struct syn_merged){.dense = dense, .count = 10};
    syn_bridge_spread(&merged, 2, places, 3);
    assert_memory_equal(high, ((float[]){0, 2, 4, 14, 16, 18}), sizeof high);
    assert_memory_equal(low, ((float[]){6, 8, 10, 12}), sizeof low);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(messages_cross_whole_and_in_order),
        cmocka_unit_test(failures_cross_too),
        cmocka_unit_test(a_peer_that_the_host_has_lost_fails_whoever_waits),
        cmocka_unit_test(means_go_to_their_places_and_are_cleared_again),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

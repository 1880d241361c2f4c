/* A transport for a host that cannot test whether a message has arrived, but only wait for it.
 * Threads of the host wait, one for each peer, and offer what has arrived; the library takes it
 * when it needs it, and sleeps until then. They communicate only through this file, so that the
 * host, whose interpreter has a lock that training competes for, is entered only to send.
 *
 * The library sends a frame and then the body that it announces. They are handed over as one. */
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <syncopate/syncopate.h>

#pragma GCC visibility push(default)
#include "bridge.h"
#pragma GCC visibility pop

#define SECOND INT64_C(1000000000)

/* Frame and body of a message. */
enum { PARTS = 2 };

struct part {
    const void *bytes;
    size_t count;
};

/* What is under way with one peer. A pointer to `sent` or `received` is a handle. */
struct link {
    bool sent; /* a send is done as soon as it is posted */
    bool received;
    bool has_failed;
    bool has_parted;
    bool has_frame; /* of the message whose body the library sends next */
    uint64_t frame[2];
    void *wanted;             /* where the library expects the next part, or NULL */
    struct part parts[PARTS]; /* of the message that is offered */
    size_t offered;           /* how many of them, the last ones, are left */
    pthread_cond_t taken;
};

struct syn_bridge {
    pthread_mutex_t mutex;  /* guards everything except frames */
    pthread_cond_t changed; /* for the library */
    uint64_t changes;
    uint64_t seen; /* changes up to here need no wake-up */
    syn_bridge_post *post;
    size_t members;
    struct link links[]; /* [members] */
};

struct syn_bridge *syn_bridge_new(size_t members, syn_bridge_post *post)
{
    pthread_condattr_t monotonic;
    struct syn_bridge *bridge = calloc(1, sizeof *bridge + members * sizeof *bridge->links);
    if (!bridge)
        return NULL;
    bridge->members = members;
    bridge->post = post;
    pthread_mutex_init(&bridge->mutex, NULL);
    pthread_condattr_init(&monotonic);
    pthread_condattr_setclock(&monotonic, CLOCK_MONOTONIC);
    pthread_cond_init(&bridge->changed, &monotonic);
    pthread_condattr_destroy(&monotonic);
    for (size_t i = 0; i < members; i++)
        pthread_cond_init(&bridge->links[i].taken, NULL);
    return bridge;
}

void syn_bridge_free(struct syn_bridge *bridge)
{
    if (!bridge)
        return;
    for (size_t i = 0; i < bridge->members; i++)
        pthread_cond_destroy(&bridge->links[i].taken);
    pthread_cond_destroy(&bridge->changed);
    pthread_mutex_destroy(&bridge->mutex);
    free(bridge);
}

/* Called with the mutex held, like serve(). */
static void wake(struct syn_bridge *bridge)
{
    bridge->changes++;
    pthread_cond_signal(&bridge->changed);
}

/* Copy an offered part to where the library expects it, if there are both. */
static void serve(struct syn_bridge *bridge, struct link *link)
{
    if (!link->wanted || link->offered == 0)
        return;
    struct part part = link->parts[PARTS - link->offered];
    memcpy(link->wanted, part.bytes, part.count);
    link->wanted = NULL;
    link->received = true;
    wake(bridge);
    if (--link->offered == 0)
        pthread_cond_signal(&link->taken);
}

static bool has_failed(struct syn_bridge *bridge, const struct link *link)
{
    pthread_mutex_lock(&bridge->mutex);
    bool is_so = link->has_failed;
    pthread_mutex_unlock(&bridge->mutex);
    return is_so;
}

static int start_send(void *context, size_t peer, const void *bytes, size_t count, void **handle)
{
    struct syn_bridge *bridge = context;
    struct link *link = &bridge->links[peer];
    if (has_failed(bridge, link))
        return 1;
    link->sent = true;
    *handle = &link->sent;
    if (!link->has_frame) {
        memcpy(link->frame, bytes, sizeof link->frame);
        link->has_frame = link->frame[1] > 0;
        return link->has_frame ? 0 : bridge->post(peer, link->frame, NULL, 0);
    }
    link->has_frame = false;
    return bridge->post(peer, link->frame, bytes, count);
}

static int start_receive(void *context, size_t peer, void *bytes, size_t count, void **handle)
{
    struct syn_bridge *bridge = context;
    struct link *link = &bridge->links[peer];
    (void)count; /* known from the sender's frame */
    pthread_mutex_lock(&bridge->mutex);
    link->received = false;
    link->wanted = bytes;
    *handle = &link->received;
    serve(bridge, link);
    int code = link->has_failed;
    pthread_mutex_unlock(&bridge->mutex);
    return code;
}

/* The link that a handle belongs to. */
static struct link *link_of(struct syn_bridge *bridge, const void *handle)
{
    size_t offset = (size_t)((const char *)handle - (const char *)bridge->links);
    return &bridge->links[offset / sizeof *bridge->links];
}

static int test(void *context, void *handle, bool *done)
{
    struct syn_bridge *bridge = context;
    pthread_mutex_lock(&bridge->mutex);
    *done = *(const bool *)handle;
    int code = link_of(bridge, handle)->has_failed && !*done;
    pthread_mutex_unlock(&bridge->mutex);
    return code;
}

static void cancel(void *context, void *handle)
{
    struct syn_bridge *bridge = context;
    struct link *link = link_of(bridge, handle);
    pthread_mutex_lock(&bridge->mutex);
    if (handle == &link->received)
        link->wanted = NULL;
    pthread_mutex_unlock(&bridge->mutex);
}

static void sleep_until(void *context, int64_t most_ns)
{
    struct syn_bridge *bridge = context;
    struct timespec until;
    clock_gettime(CLOCK_MONOTONIC, &until);
    int64_t end_ns = until.tv_nsec + most_ns;
    until.tv_sec += end_ns / SECOND;
    until.tv_nsec = end_ns % SECOND;
    int late = 0;
    pthread_mutex_lock(&bridge->mutex);
    while (bridge->changes == bridge->seen && !late)
        late = pthread_cond_timedwait(&bridge->changed, &bridge->mutex, &until);
    bridge->seen = bridge->changes;
    pthread_mutex_unlock(&bridge->mutex);
}

enum syn_status syn_bridge_join(struct syn_bridge *bridge, size_t rank,
                                const struct syn_group_options *options, struct syn_group **group)
{
    struct syn_caller_transport transport = {.context = bridge,
                                             .start_send = start_send,
                                             .start_receive = start_receive,
                                             .test = test,
                                             .cancel = cancel,
                                             .sleep = sleep_until};
    return syn_group_open_caller(&transport, rank, bridge->members, options, group);
}

void syn_bridge_offer(struct syn_bridge *bridge, size_t peer, const void *frame, const void *body,
                      size_t count)
{
    struct link *link = &bridge->links[peer];
    pthread_mutex_lock(&bridge->mutex);
    link->parts[0] = count > 0 ? (struct part){frame, SYN_BRIDGE_FRAME_BYTES} : (struct part){0};
    link->parts[1] =
        count > 0 ? (struct part){body, count} : (struct part){frame, SYN_BRIDGE_FRAME_BYTES};
    link->offered = count > 0 ? 2 : 1;
    serve(bridge, link);
    pthread_mutex_unlock(&bridge->mutex);
}

void syn_bridge_rest(struct syn_bridge *bridge, size_t peer)
{
    struct link *link = &bridge->links[peer];
    pthread_mutex_lock(&bridge->mutex);
    while (link->offered > 0 && !link->has_parted)
        pthread_cond_wait(&link->taken, &bridge->mutex);
    link->offered = 0;
    pthread_mutex_unlock(&bridge->mutex);
}

void syn_bridge_fail(struct syn_bridge *bridge, size_t peer)
{
    pthread_mutex_lock(&bridge->mutex);
    bridge->links[peer].has_failed = true;
    wake(bridge);
    pthread_mutex_unlock(&bridge->mutex);
}

void syn_bridge_part(struct syn_bridge *bridge, size_t peer)
{
    struct link *link = &bridge->links[peer];
    pthread_mutex_lock(&bridge->mutex);
    link->has_parted = true;
    pthread_cond_signal(&link->taken);
    pthread_mutex_unlock(&bridge->mutex);
}

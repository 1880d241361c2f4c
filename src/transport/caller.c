/* Workers connected by message passing that the host program provides.
 *
 * All that is required of the host is a stream of messages between each pair of workers, with sizes
 * known to the receiver: the minimum that any library offers. So each of our messages is two of the
 * host's: a frame of fixed size with kind and size, and a body of that size, omitted if it is 0.
 * Both are started at once, so the frame costs no extra round trip. Control messages travel in the
 * same stream, marked by their kind.
 *
 * One receive is always under way from each peer: of the next frame, or of the body of the last
 * one. Data without a matching receive stays with the host, and so does everything after it,
 * including a ping. So the sender of such data is sent a pong without a ping: it may be waiting for
 * us while we wait for another member. */
#include "transport/transport.h"

#include <stdio.h>
#include <stdlib.h>

#include "base/clock.h"
#include "base/memory.h"
#include "transport/attend.h"

#define FLUSH_NS INT64_C(200000000)

/* The least and the longest time between these pongs; in between, an eighth of the time-out. */
#define TELL_LEAST_NS INT64_C(20000000)
#define TELL_MOST_NS  INT64_C(1000000000)

/* A link slower than this counts as silent: 100 kB/s. */
#define SLOWEST_BYTES_PER_MS 100

enum frame_kind { FRAME_DATA = 1, FRAME_CONTROL };

/* Meaning of the extra words of a send; the first two are the frame itself. */
enum { KIND, COUNT, HEAD_UNDER_WAY, BODY_UNDER_WAY, FRAME_BYTES = 2 * sizeof(uint64_t) };

/* And those of a receive. */
enum { ARRIVED };

/* What is expected next from a peer. */
enum stage {
    FRAME,
    UNCLAIMED,    /* data is coming, but there is no request for it yet */
    DATA,         /* into the first request */
    CONTROL,      /* into control */
    CONTROL_DONE, /* control is complete and not taken yet */
    NOTHING       /* given up */
};

struct outgoing {
    struct syn_request request;
    struct syn_control control;
};

struct link {
    enum stage stage;
    void *handle; /* in FRAME, DATA and CONTROL */
    uint64_t frame[2];
    int64_t began_ns;  /* when the receive was started */
    int64_t ponged_ns; /* in UNCLAIMED: when the peer was last sent a pong */
    struct syn_control control;
    struct syn_request *first; /* receives, in order */
    struct syn_request *last;
    struct outgoing outbox[SYN_CONTROL_KINDS];
};

struct membership {
    struct syn_caller_transport host;
    struct link *links; /* [size] */
};

extern const struct syn_transport_type syn_transport_caller;

static struct link *link_to(const struct syn_group *group, size_t peer)
{
    return &((const struct membership *)group->state)->links[peer];
}

static const struct syn_caller_transport *host_of(const struct syn_group *group)
{
    return &((const struct membership *)group->state)->host;
}

/* A function of the host failed with that code, which means that the connection to that peer
 * failed. */
static enum syn_status lose(struct syn_group *group, size_t peer, const char *function, int code)
{
    char reason[64];
    snprintf(reason, sizeof reason, "%s returned %d", function, code);
    syn_fail_again(SYN_PEER, reason);
    return syn_group_lost(group, peer);
}

static enum syn_status send_part(struct syn_group *group, size_t peer, const void *bytes,
                                 size_t count, void **handle)
{
    const struct syn_caller_transport *host = host_of(group);
    int code = host->start_send(host->context, peer, bytes, count, handle);
    return code == 0 ? SYN_OK : lose(group, peer, "start_send", code);
}

static enum syn_status await(struct syn_group *group, size_t peer, enum stage stage, void *bytes,
                             size_t count)
{
    const struct syn_caller_transport *host = host_of(group);
    struct link *link = link_to(group, peer);
    link->stage = NOTHING;
    int code = host->start_receive(host->context, peer, bytes, count, &link->handle);
    if (code != 0)
        return lose(group, peer, "start_receive", code);
    link->stage = stage;
    link->began_ns = syn_clock_ns();
    return SYN_OK;
}

static enum syn_status await_frame(struct syn_group *group, size_t peer)
{
    return await(group, peer, FRAME, link_to(group, peer)->frame, FRAME_BYTES);
}

static enum syn_status probe(struct syn_group *group, size_t peer, void *handle, bool *is_done)
{
    const struct syn_caller_transport *host = host_of(group);
    int code = host->test(host->context, handle, is_done);
    return code == 0 ? SYN_OK : lose(group, peer, "test", code);
}

static void give_up(const struct syn_group *group, void *handle)
{
    const struct syn_caller_transport *host = host_of(group);
    if (host->cancel)
        host->cancel(host->context, handle);
}

static void cancel_send(const struct syn_group *group, struct syn_request *request)
{
    for (size_t part = 0; part < 2; part++)
        if (request->extra[HEAD_UNDER_WAY + part])
            give_up(group, request->handles[part]);
}

static enum syn_status start_send(struct syn_group *group, struct syn_request *request,
                                  enum frame_kind kind)
{
    request->extra[KIND] = kind;
    request->extra[COUNT] = request->count;
    SYN_TRY(send_part(group, request->peer, request->extra, FRAME_BYTES, &request->handles[0]));
    request->extra[HEAD_UNDER_WAY] = true;
    if (request->count == 0)
        return SYN_OK;
    enum syn_status status =
        send_part(group, request->peer, request->bytes.send, request->count, &request->handles[1]);
    if (status != SYN_OK) {
        cancel_send(group, request);
        return status;
    }
    request->extra[BODY_UNDER_WAY] = true;
    return SYN_OK;
}

static enum syn_status test_send(struct syn_group *group, struct syn_request *request)
{
    request->is_active = false;
    for (size_t part = 0; part < 2; part++) {
        bool is_done = true;
        if (request->extra[HEAD_UNDER_WAY + part])
            SYN_TRY(probe(group, request->peer, request->handles[part], &is_done));
        request->extra[HEAD_UNDER_WAY + part] = !is_done;
        request->is_active |= !is_done;
    }
    return SYN_OK;
}

static enum syn_status read_frame(struct syn_group *group, size_t peer)
{
    struct link *link = link_to(group, peer);
    if (link->frame[KIND] == FRAME_CONTROL && link->frame[COUNT] == sizeof link->control)
        return await(group, peer, CONTROL, &link->control, sizeof link->control);
    link->stage = link->frame[KIND] == FRAME_DATA ? UNCLAIMED : NOTHING;
    link->ponged_ns = syn_clock_ns();
    if (link->stage == NOTHING)
        return syn_fail(SYN_FORMAT, "worker %zu sent a frame of kind %llu and size %llu", peer,
                        (unsigned long long)link->frame[KIND],
                        (unsigned long long)link->frame[COUNT]);
    return SYN_OK;
}

static enum syn_status deliver(struct syn_group *group, size_t peer)
{
    struct link *link = link_to(group, peer);
    link->first->extra[ARRIVED] = true;
    link->first->count = (size_t)link->frame[COUNT];
    link->first = link->first->next;
    return await_frame(group, peer);
}

static enum syn_status accept_data(struct syn_group *group, size_t peer)
{
    struct link *link = link_to(group, peer);
    if (link->frame[COUNT] > link->first->count)
        return syn_fail(SYN_FORMAT, "worker %zu sent %llu bytes where at most %zu were expected",
                        peer, (unsigned long long)link->frame[COUNT], link->first->count);
    if (link->frame[COUNT] == 0)
        return deliver(group, peer);
    return await(group, peer, DATA, link->first->bytes.receive, (size_t)link->frame[COUNT]);
}

/* Process incoming data from a peer as far as possible without waiting. */
static enum syn_status advance(struct syn_group *group, size_t peer)
{
    struct link *link = link_to(group, peer);
    for (;;) {
        bool is_done = false;
        bool is_under_way = link->stage == FRAME || link->stage == DATA || link->stage == CONTROL;
        enum syn_status status = is_under_way ? probe(group, peer, link->handle, &is_done) : SYN_OK;
        if (status != SYN_OK) {
            give_up(group, link->handle);
            link->stage = NOTHING; /* messages from others are still received */
            return status;
        }
        if (link->stage == UNCLAIMED && link->first)
            SYN_TRY(accept_data(group, peer));
        else if (link->stage == FRAME && is_done)
            SYN_TRY(read_frame(group, peer));
        else if (link->stage == DATA && is_done)
            SYN_TRY(deliver(group, peer));
        else if (link->stage == CONTROL && is_done)
            link->stage = CONTROL_DONE;
        else
            return SYN_OK;
    }
}

static enum syn_status start(struct syn_group *group, struct syn_request *request)
{
    if (!request->is_receive)
        return start_send(group, request, FRAME_DATA);
    struct link *link = link_to(group, request->peer);
    if (link->first)
        link->last->next = request;
    else
        link->first = request;
    link->last = request;
    return SYN_OK;
}

static enum syn_status test(struct syn_group *group, struct syn_request *request)
{
    if (!request->is_receive)
        return test_send(group, request);
    if (!request->extra[ARRIVED])
        SYN_TRY(advance(group, request->peer));
    request->is_active = !request->extra[ARRIVED];
    return SYN_OK;
}

/* A broken group no longer receives anything, so its queues need no repair. */
static void cancel(struct syn_group *group, struct syn_request *request)
{
    struct link *link = link_to(group, request->peer);
    if (!request->is_receive) {
        cancel_send(group, request);
    } else if (link->stage == DATA && link->first == request) {
        give_up(group, link->handle);
        link->stage = NOTHING;
    }
}

static void send_control(struct syn_group *group, size_t peer, const struct syn_control *control)
{
    struct outgoing *slot = &link_to(group, peer)->outbox[control->kind];
    if (slot->request.is_active)
        return;
    slot->control = *control;
    slot->request = (struct syn_request){
        .peer = peer, .count = sizeof slot->control, .bytes.send = &slot->control};
    slot->request.is_active = start_send(group, &slot->request, FRAME_CONTROL) == SYN_OK;
}

/* Advance the outgoing control messages; *is_any_left is set if any is still under way. */
static enum syn_status push_control(struct syn_group *group, size_t peer, bool *is_any_left)
{
    for (size_t kind = 0; kind < SYN_CONTROL_KINDS; kind++) {
        struct syn_request *request = &link_to(group, peer)->outbox[kind].request;
        if (request->is_active)
            SYN_TRY(test_send(group, request));
        *is_any_left |= request->is_active;
    }
    return SYN_OK;
}

static int64_t pong_period(const struct syn_group *group)
{
    int64_t period_ns = group->timeout_ns / 8;
    period_ns = period_ns < TELL_LEAST_NS ? TELL_LEAST_NS : period_ns;
    return period_ns > TELL_MOST_NS ? TELL_MOST_NS : period_ns;
}

static void say_here(struct syn_group *group, size_t peer)
{
    struct link *link = link_to(group, peer);
    if (link->stage != UNCLAIMED || syn_clock_ns() - link->ponged_ns < pong_period(group))
        return;
    syn_group_send_pong(group, peer);
    link->ponged_ns = syn_clock_ns();
}

/* The host does not report how much of a body has arrived, and a pong would arrive after it. So an
 * announced body counts as an answer for as long as a slow link may need for it. */
static void trust_bodies(struct syn_group *group, size_t peer)
{
    const struct link *link = link_to(group, peer);
    int64_t now_ns = syn_clock_ns();
    int64_t granted_ns = (int64_t)(link->frame[COUNT] / SLOWEST_BYTES_PER_MS) * 1000000;
    if (link->stage == DATA && now_ns - link->began_ns < granted_ns)
        group->peers[peer].heard_ns = now_ns;
}

static enum syn_status receive_control(struct syn_group *group, struct syn_control *control,
                                       bool *came)
{
    for (size_t peer = 0; peer < group->size && !*came; peer++) {
        struct link *link = link_to(group, peer);
        bool is_any_left = false;
        SYN_TRY(push_control(group, peer, &is_any_left));
        SYN_TRY(advance(group, peer));
        say_here(group, peer);
        trust_bodies(group, peer);
        if (link->stage != CONTROL_DONE)
            continue;
        *control = link->control;
        *came = true;
        SYN_TRY(await_frame(group, peer));
    }
    return SYN_OK;
}

/* Sleeps no longer than the others may go without a pong. */
static bool sleep_until(struct syn_group *group, int64_t until_ns, int64_t waited_ns)
{
    (void)waited_ns;
    const struct syn_caller_transport *host = host_of(group);
    if (!host->sleep)
        return false;
    int64_t left_ns = until_ns - syn_clock_ns();
    int64_t period_ns = pong_period(group);
    if (left_ns > 0)
        host->sleep(host->context, left_ns < period_ns ? left_ns : period_ns);
    return true;
}

/* Let the last control messages leave, within a time limit. */
static void flush(struct syn_group *group)
{
    int64_t start_ns = syn_clock_ns();
    int64_t waited_ns = 0;
    bool is_any_left = true;
    while (is_any_left && waited_ns < FLUSH_NS) {
        is_any_left = false;
        for (size_t peer = 0; peer < group->size; peer++)
            if (push_control(group, peer, &is_any_left) != SYN_OK)
                return;
        waited_ns = syn_clock_ns() - start_ns;
        if (is_any_left)
            syn_group_back_off(waited_ns);
    }
}

static void leave(struct syn_group *group)
{
    struct membership *own = group->state;
    if (!own->links)
        return;
    flush(group);
    if (!own->host.cancel)
        return; /* the host may still write to the links */
    for (size_t peer = 0; peer < group->size; peer++) {
        struct link *link = &own->links[peer];
        if (link->stage == FRAME || link->stage == DATA || link->stage == CONTROL)
            give_up(group, link->handle);
        for (size_t kind = 0; kind < SYN_CONTROL_KINDS; kind++)
            if (link->outbox[kind].request.is_active)
                cancel_send(group, &link->outbox[kind].request);
    }
    free(own->links);
}

static enum syn_status join(struct syn_group *group, const struct syn_caller_transport *transport)
{
    struct membership *own = group->state;
    own->host = *transport;
    SYN_TRY(syn_allocate(group->size, sizeof *own->links, &own->links));
    for (size_t peer = 0; peer < group->size; peer++)
        own->links[peer].stage = NOTHING;
    for (size_t peer = 0; peer < group->size; peer++)
        if (peer != group->rank)
            SYN_TRY(await_frame(group, peer));
    return SYN_OK;
}

static enum syn_status open_group(const struct syn_group_place *place,
                                  const struct syn_group_options *options, struct syn_group **group)
{
    const struct syn_caller_transport *transport = place->transport;
    size_t rank = place->rank;
    size_t workers = place->workers;
    if (!transport || !transport->start_send || !transport->start_receive || !transport->test)
        return syn_fail(SYN_INVALID, "the transport has no start_send, start_receive or test");
    if (rank >= workers || workers > UINT32_MAX)
        return syn_fail(SYN_INVALID,
                        "rank %zu in a group of %zu workers; expected a rank below their number",
                        rank, workers);
    struct syn_group *made;
    SYN_TRY(syn_group_new(&syn_transport_caller, rank, workers, options, sizeof(struct membership),
                          &made));
    enum syn_status status = join(made, transport);
    if (status == SYN_OK)
        status = syn_attend_begin(made);
    if (status != SYN_OK) {
        syn_group_close(made);
        return status;
    }
    *group = made;
    return SYN_OK;
}

const struct syn_transport_type syn_transport_caller = {
    .part = {"caller", "workers are connected by functions that the host program provides"},
    .open = open_group,
    .start = start,
    .test = test,
    .cancel = cancel,
    .sleep = sleep_until,
    .send_control = send_control,
    .receive_control = receive_control,
    .close = leave,
};

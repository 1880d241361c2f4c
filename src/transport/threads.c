/* Workers that are threads of one process. A message is copied once, directly from the sender's
 * bytes to the receiver's: the first of the two to arrive leaves its request in the channel between
 * them, the second finds it there and copies, outside any lock. A mailbox that owns the bytes in
 * between would need unbounded memory and a second copy.
 *
 * Each worker has one mutex. It guards the channels that lead to that worker, its control messages,
 * and whether its own requests are done. No thread ever holds two of them. */
#include "transport/transport.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/memory.h"
#include "transport/attend.h"

#define MOST_WORKERS 4096

/* Meaning of a request's extra words. */
enum {
    QUEUED, /* in a channel; guarded by the receiving worker's mutex */
    DONE,   /* guarded by the mutex of the worker whose request it is */
    SIZE    /* of the message, once done */
};

/* From one worker to another. */
struct channel {
    struct syn_request *first; /* sends or receives without a partner yet; never both */
    struct syn_request *last;
    bool has_ping;
    uint32_t session;         /* of the sender of the last ping */
    struct syn_control *pong; /* the newest; NULL until the first */
    bool has_pong;
};

struct member {
    pthread_mutex_t mutex;
    pthread_cond_t changed;
    uint64_t changes; /* counts what happened to requests and control messages */
    size_t controls;  /* not received yet: failure and flags of the channels that lead here */
    struct syn_control failure;
    bool has_failure; /* received or not; the first one is kept, later ones are ignored */
    bool is_failure_received;
};

/* State shared by the workers. The last one to leave frees it. */
struct hub {
    atomic_size_t users;
    size_t size;
    struct member *members;   /* [size] */
    struct channel *channels; /* [to][from] */
};

struct seat {
    struct hub *hub;
    uint64_t seen; /* changes up to here have been handled */
};

extern const struct syn_transport_type syn_transport_threads;

static struct hub *hub_of(const struct syn_group *group)
{
    return ((const struct seat *)group->state)->hub;
}

static struct member *self(const struct syn_group *group)
{
    return &hub_of(group)->members[group->rank];
}

static struct channel *channel_between(const struct hub *hub, size_t from, size_t to)
{
    return &hub->channels[to * hub->size + from];
}

/* Called with the member's mutex held. */
static void wake(struct member *member)
{
    member->changes++;
    pthread_cond_signal(&member->changed);
}

static void enqueue(struct channel *channel, struct syn_request *request)
{
    request->extra[QUEUED] = true;
    if (channel->first)
        channel->last->next = request;
    else
        channel->first = request;
    channel->last = request;
}

static void take_out(struct channel *channel, struct syn_request *request)
{
    struct syn_request *before = NULL;
    for (struct syn_request *other = channel->first; other != request; other = other->next)
        before = other;
    if (before)
        before->next = request->next;
    else
        channel->first = request->next;
    if (channel->last == request)
        channel->last = before;
    request->extra[QUEUED] = false;
}

static void finish(struct member *owner, struct syn_request *request, size_t size)
{
    pthread_mutex_lock(&owner->mutex);
    request->extra[SIZE] = size;
    request->extra[DONE] = true;
    wake(owner);
    pthread_mutex_unlock(&owner->mutex);
}

/* The channel of a request, and its receiving end. */
struct ends {
    struct channel *channel;
    struct member *receiver;
};

static struct ends ends_of(const struct syn_group *group, const struct syn_request *request)
{
    struct hub *hub = hub_of(group);
    size_t from = request->is_receive ? request->peer : group->rank;
    size_t to = request->is_receive ? group->rank : request->peer;
    struct ends ends = {channel_between(hub, from, to), &hub->members[to]};
    return ends;
}

static enum syn_status start(struct syn_group *group, struct syn_request *request)
{
    struct ends ends = ends_of(group, request);
    pthread_mutex_lock(&ends.receiver->mutex);
    struct syn_request *partner = ends.channel->first;
    if (partner && partner->is_receive != request->is_receive) {
        take_out(ends.channel, partner);
    } else {
        partner = NULL;
        enqueue(ends.channel, request);
    }
    pthread_mutex_unlock(&ends.receiver->mutex);
    if (!partner)
        return SYN_OK;

    const struct syn_request *send = request->is_receive ? partner : request;
    const struct syn_request *receive = request->is_receive ? request : partner;
    size_t size = send->count;
    if (size > 0 && size <= receive->count)
        memcpy(receive->bytes.receive, send->bytes.send, size);
    finish(&hub_of(group)->members[request->peer], partner, size);
    finish(self(group), request, size);
    return SYN_OK;
}

static enum syn_status test(struct syn_group *group, struct syn_request *request)
{
    struct member *member = self(group);
    pthread_mutex_lock(&member->mutex);
    bool is_done = request->extra[DONE];
    pthread_mutex_unlock(&member->mutex);
    if (!is_done)
        return SYN_OK;
    request->is_active = false;
    size_t size = (size_t)request->extra[SIZE];
    if (size > request->count)
        return syn_fail(SYN_FORMAT, "worker %zu sent %zu bytes where at most %zu were expected",
                        request->peer, size, request->count);
    request->count = size;
    return SYN_OK;
}

/* If a partner has already found the request, its copy is completed first. */
static void cancel(struct syn_group *group, struct syn_request *request)
{
    struct ends ends = ends_of(group, request);
    pthread_mutex_lock(&ends.receiver->mutex);
    bool was_queued = request->extra[QUEUED];
    if (was_queued)
        take_out(ends.channel, request);
    pthread_mutex_unlock(&ends.receiver->mutex);
    if (was_queued)
        return;

    struct member *member = self(group);
    pthread_mutex_lock(&member->mutex);
    while (!request->extra[DONE])
        pthread_cond_wait(&member->changed, &member->mutex);
    pthread_mutex_unlock(&member->mutex);
}

static bool sleep_until(struct syn_group *group, int64_t until_ns, int64_t waited_ns)
{
    (void)waited_ns; /* nothing is missed */
    struct seat *seat = group->state;
    struct member *member = self(group);
    struct timespec until = syn_clock_timespec(until_ns);
    pthread_mutex_lock(&member->mutex);
    int late = 0;
    while (member->changes == seat->seen && !late)
        late = pthread_cond_timedwait(&member->changed, &member->mutex, &until);
    seat->seen = member->changes;
    pthread_mutex_unlock(&member->mutex);
    return true;
}

/* The newest pong replaces the previous one. Its memory is allocated on demand, as pongs are rare
 * and channels are many. */
static bool keep_pong(struct channel *channel, const struct syn_control *control)
{
    bool is_new = !channel->has_pong;
    if (!channel->pong && syn_allocate(1, sizeof *channel->pong, &channel->pong) != SYN_OK)
        return false;
    *channel->pong = *control;
    channel->has_pong = true;
    return is_new;
}

/* Returns whether there is one more to receive. */
static bool keep(struct member *member, struct channel *channel, const struct syn_control *control)
{
    if (control->kind == SYN_CONTROL_PONG)
        return keep_pong(channel, control);
    bool *flag = &member->has_failure;
    if (control->kind == SYN_CONTROL_PING) {
        flag = &channel->has_ping;
        channel->session = control->session;
    } else if (!member->has_failure) {
        member->failure = *control;
    }
    bool is_new = !*flag;
    *flag = true;
    return is_new;
}

static void send_control(struct syn_group *group, size_t peer, const struct syn_control *control)
{
    struct hub *hub = hub_of(group);
    struct member *member = &hub->members[peer];
    pthread_mutex_lock(&member->mutex);
    if (keep(member, channel_between(hub, group->rank, peer), control)) {
        member->controls++;
        wake(member);
    }
    pthread_mutex_unlock(&member->mutex);
}

/* Remove the next control message; there must be one. */
static struct syn_control pick(struct hub *hub, struct member *member, size_t rank)
{
    if (member->has_failure && !member->is_failure_received) {
        member->is_failure_received = true;
        return member->failure;
    }
    for (size_t from = 0; from < hub->size; from++) {
        struct channel *channel = channel_between(hub, from, rank);
        if (channel->has_pong) {
            channel->has_pong = false;
            return *channel->pong;
        }
        if (channel->has_ping) {
            channel->has_ping = false;
            return (struct syn_control){.kind = SYN_CONTROL_PING,
                                        .from = (uint32_t)from,
                                        .about = (uint32_t)from,
                                        .session = channel->session};
        }
    }
    return (struct syn_control){.kind = SYN_CONTROL_KINDS};
}

static enum syn_status receive_control(struct syn_group *group, struct syn_control *control,
                                       bool *came)
{
    struct member *member = self(group);
    pthread_mutex_lock(&member->mutex);
    *came = member->controls > 0;
    if (*came) {
        member->controls--;
        *control = pick(hub_of(group), member, group->rank);
    }
    pthread_mutex_unlock(&member->mutex);
    return SYN_OK;
}

static void free_hub(struct hub *hub)
{
    for (size_t i = 0; i < hub->size; i++) {
        pthread_mutex_destroy(&hub->members[i].mutex);
        pthread_cond_destroy(&hub->members[i].changed);
    }
    for (size_t i = 0; i < hub->size * hub->size; i++)
        free(hub->channels[i].pong);
    free(hub->members);
    free(hub->channels);
    free(hub);
}

static void leave(struct syn_group *group)
{
    struct hub *hub = hub_of(group);
    if (atomic_fetch_sub(&hub->users, 1) == 1)
        free_hub(hub);
}

static enum syn_status make_hub(size_t size, struct hub **result)
{
    struct hub *hub;
    SYN_TRY(syn_allocate(1, sizeof *hub, &hub));
    enum syn_status status = syn_allocate(size, sizeof *hub->members, &hub->members);
    if (status == SYN_OK)
        status = syn_allocate(size * size, sizeof *hub->channels, &hub->channels);
    pthread_condattr_t monotonic;
    if (status == SYN_OK && (pthread_condattr_init(&monotonic) != 0 ||
                             pthread_condattr_setclock(&monotonic, CLOCK_MONOTONIC) != 0))
        status = syn_fail(SYN_UNSUPPORTED,
                          "this system has no condition variables with a monotonic clock");
    if (status != SYN_OK) {
        free_hub(hub);
        return status;
    }
    for (; hub->size < size; hub->size++) {
        pthread_mutex_init(&hub->members[hub->size].mutex, NULL);
        pthread_cond_init(&hub->members[hub->size].changed, &monotonic);
    }
    pthread_condattr_destroy(&monotonic);
    atomic_init(&hub->users, size);
    *result = hub;
    return SYN_OK;
}

/* Undo the first count memberships. */
static void dismiss(struct syn_group **groups, size_t count)
{
    while (count-- > 0) {
        syn_attend_end(groups[count]);
        syn_group_free(groups[count]);
    }
}

static enum syn_status seat_all(struct hub *hub, const struct syn_group_options *options,
                                struct syn_group **groups)
{
    for (size_t rank = 0; rank < hub->size; rank++) {
        enum syn_status status = syn_group_new(&syn_transport_threads, rank, hub->size, options,
                                               sizeof(struct seat), &groups[rank]);
        if (status == SYN_OK) {
            ((struct seat *)groups[rank]->state)->hub = hub;
            status = syn_attend_begin(groups[rank]);
            if (status != SYN_OK)
                syn_group_free(groups[rank]);
        }
        if (status != SYN_OK) {
            dismiss(groups, rank);
            return status;
        }
    }
    return SYN_OK;
}

static enum syn_status open_group(const struct syn_group_place *place,
                                  const struct syn_group_options *options,
                                  struct syn_group **groups)
{
    size_t workers = place->workers;
    if (workers < 1 || workers > MOST_WORKERS)
        return syn_fail(SYN_INVALID, "a group of %zu threads; expected 1 to %d", workers,
                        MOST_WORKERS);
    struct hub *hub;
    SYN_TRY(make_hub(workers, &hub));
    enum syn_status status = seat_all(hub, options, groups);
    if (status != SYN_OK)
        free_hub(hub);
    return status;
}

const struct syn_transport_type syn_transport_threads = {
    .part = {"threads", "workers are threads of one process; one copy per message"},
    .is_one_process = true,
    .open = open_group,
    .start = start,
    .test = test,
    .cancel = cancel,
    .sleep = sleep_until,
    .send_control = send_control,
    .receive_control = receive_control,
    .close = leave,
};

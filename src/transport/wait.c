/* Sending, receiving and waiting, the same over every transport. Whom to suspect meanwhile, and
 * when, is in suspect.c. */
#include <sched.h>
#include <time.h>

#include "base/clock.h"
#include "transport/alive.h"

static int64_t least(int64_t a, int64_t b)
{
    return a < b ? a : b;
}

static int64_t most(int64_t a, int64_t b)
{
    return a > b ? a : b;
}

/* Yielding first makes small messages between cores of one machine fifty times faster and halves
 * their time over TCP. */
int64_t syn_group_back_off_ns(int64_t waited_ns)
{
    if (waited_ns < SYN_MILLISECOND / 20)
        return 0;
    return least(most(waited_ns / 8, SYN_MILLISECOND / 50), SYN_MILLISECOND);
}

void syn_group_back_off(int64_t waited_ns)
{
    struct timespec pause = syn_clock_timespec(syn_group_back_off_ns(waited_ns));
    if (pause.tv_nsec == 0)
        sched_yield();
    else
        nanosleep(&pause, NULL);
}

static enum syn_status start(struct syn_group *group, struct syn_request *request)
{
    request->is_active = false;
    if (group->broken != SYN_OK)
        return syn_control_fail_again(group);
    if (request->peer >= group->size || request->peer == group->rank)
        return syn_fail(SYN_INVALID, "worker %zu of %zu cannot %s worker %zu", group->rank,
                        group->size, request->is_receive ? "receive from" : "send to",
                        request->peer);
    request->is_active = true;
    struct syn_peer *peer = &group->peers[request->peer];
    request->number = request->is_receive ? peer->receives++ : peer->sends++;
    int64_t now_ns = syn_clock_ns();
    request->patience = (struct syn_patience){.moved_ns = now_ns, .quiet_ns = now_ns};
    enum syn_status status = group->type->start(group, request);
    if (status == SYN_OK)
        return SYN_OK;
    request->is_active = false;
    return syn_control_fail(group, status);
}

static enum syn_status start_locked(struct syn_group *group, struct syn_request *request)
{
    pthread_mutex_lock(&group->mutex);
    enum syn_status status = start(group, request);
    pthread_mutex_unlock(&group->mutex);
    return status;
}

enum syn_status syn_group_send(struct syn_group *group, size_t peer, const void *bytes,
                               size_t count, struct syn_request *request)
{
    *request = (struct syn_request){.peer = peer, .count = count, .bytes.send = bytes};
    return start_locked(group, request);
}

enum syn_status syn_group_receive(struct syn_group *group, size_t peer, void *bytes,
                                  size_t capacity, struct syn_request *request)
{
    *request = (struct syn_request){
        .peer = peer, .count = capacity, .is_receive = true, .bytes.receive = bytes};
    return start_locked(group, request);
}

void syn_group_moved(struct syn_group *group, size_t peer)
{
    group->moves++;
    group->peers[peer].heard_ns = syn_clock_ns();
}

/* Test one request and, if it is done, count its bytes. */
static enum syn_status test_one(struct syn_group *group, struct syn_request *request)
{
    SYN_TRY(group->type->test(group, request));
    if (!request->is_active)
        syn_group_moved(group, request->peer);
    if (!request->is_active && request->is_receive)
        group->bytes_in += request->count;
    else if (!request->is_active)
        group->bytes_out += request->count;
    return SYN_OK;
}

/* Test all requests; *left is how many are still under way. */
static enum syn_status test_all(struct syn_group *group, struct syn_request *requests, size_t count,
                                size_t *left)
{
    *left = 0;
    for (size_t i = 0; i < count; i++) {
        if (!requests[i].is_active)
            continue;
        SYN_TRY(test_one(group, &requests[i]));
        *left += requests[i].is_active;
    }
    return SYN_OK;
}

static void cancel_all(struct syn_group *group, struct syn_request *requests, size_t count)
{
    for (size_t i = 0; i < count; i++)
        if (requests[i].is_active) {
            group->type->cancel(group, &requests[i]);
            requests[i].is_active = false;
        }
}

static void rest(struct syn_group *group, int64_t until_ns, int64_t waited_ns)
{
    if (!group->type->sleep || !group->type->sleep(group, until_ns, waited_ns))
        syn_group_back_off(waited_ns);
}

/* Returns when all are done, or when the group is broken. */
static void wait_all(struct syn_group *group, struct syn_request *requests, size_t count)
{
    struct syn_patience patience = {0};
    size_t left_before = SIZE_MAX;
    while (group->broken == SYN_OK) {
        size_t left;
        enum syn_status status = test_all(group, requests, count, &left);
        if (status != SYN_OK) {
            syn_control_fail(group, status);
            return;
        }
        if (left == 0)
            return;
        int64_t now_ns = syn_clock_ns();
        if (left < left_before)
            patience = (struct syn_patience){.moved_ns = now_ns, .quiet_ns = now_ns};
        left_before = left;
        if (syn_suspect(group, requests, count, &patience, now_ns) != SYN_OK)
            return;
        rest(group, syn_suspect_next(group, &patience), now_ns - patience.moved_ns);
        syn_control_receive(
            group); /* not between test and rest: it may consume what would end the rest */
    }
}

static void begin_waiting(struct syn_group *group, const struct syn_request *requests, size_t count,
                          bool is_any)
{
    pthread_mutex_lock(&group->mutex);
    group->waiting = (struct syn_waiting){requests, count, is_any, syn_clock_ns()};
}

/* Cancels the requests if the group is broken. */
static enum syn_status end_waiting(struct syn_group *group, struct syn_request *requests,
                                   size_t count)
{
    enum syn_status status = group->broken;
    group->waiting = (struct syn_waiting){0};
    if (status != SYN_OK) {
        cancel_all(group, requests, count);
        syn_control_fail_again(group);
    }
    pthread_mutex_unlock(&group->mutex);
    return status;
}

enum syn_status syn_group_wait(struct syn_group *group, struct syn_request *requests, size_t count)
{
    begin_waiting(group, requests, count, false);
    wait_all(group, requests, count);
    return end_waiting(group, requests, count);
}

/* Look for a request that is done, cyclically from number *which + 1 on; those not reached stay as
 * they are. */
static enum syn_status test_until_done(struct syn_group *group, struct syn_request *requests,
                                       size_t count, size_t *which, bool *is_found)
{
    size_t last = *which % count;
    for (size_t i = 1; i <= count; i++) {
        size_t place = (last + i) % count;
        if (!requests[place].is_active)
            continue;
        SYN_TRY(test_one(group, &requests[place]));
        if (!requests[place].is_active) {
            *which = place;
            *is_found = true;
            break;
        }
    }
    return SYN_OK;
}

/* Check the peer of each request separately.
 *   until_ns  when to check again */
static enum syn_status suspect_each(struct syn_group *group, struct syn_request *requests,
                                    size_t count, int64_t now_ns, int64_t *until_ns)
{
    *until_ns = INT64_MAX;
    for (size_t i = 0; i < count; i++) {
        if (!requests[i].is_active)
            continue;
        SYN_TRY(syn_suspect(group, &requests[i], 1, &requests[i].patience, now_ns));
        *until_ns = least(*until_ns, syn_suspect_next(group, &requests[i].patience));
    }
    return SYN_OK;
}

/* Returns when one is done, or when the group is broken. */
static void wait_one(struct syn_group *group, struct syn_request *requests, size_t count,
                     size_t *which)
{
    int64_t began_ns = syn_clock_ns();
    while (group->broken == SYN_OK && syn_control_receive(group) == SYN_OK) {
        bool is_found = false;
        enum syn_status status = test_until_done(group, requests, count, which, &is_found);
        if (status != SYN_OK)
            syn_control_fail(group, status);
        if (status != SYN_OK || is_found)
            return;
        int64_t now_ns = syn_clock_ns();
        int64_t until_ns;
        if (suspect_each(group, requests, count, now_ns, &until_ns) == SYN_OK)
            rest(group, until_ns, now_ns - began_ns);
    }
}

enum syn_status syn_group_wait_any(struct syn_group *group, struct syn_request *requests,
                                   size_t count, size_t *which)
{
    size_t active = 0;
    for (size_t i = 0; i < count; i++)
        active += requests[i].is_active;
    begin_waiting(group, requests, count, true);
    if (active > 0)
        wait_one(group, requests, count, which);
    enum syn_status status = end_waiting(group, requests, count);
    return active == 0 && status == SYN_OK
               ? syn_fail(SYN_INVALID, "nothing to wait for: no request is active")
               : status;
}

void syn_group_abandon(struct syn_group *group, enum syn_status status, const char *cause)
{
    pthread_mutex_lock(&group->mutex);
    syn_control_abandon(group, status, cause);
    pthread_mutex_unlock(&group->mutex);
}

/* Sending, receiving and waiting, the same over every transport: whom to suspect and when, how a
 * failure reaches everybody, and what happens afterwards.
 *
 * Whoever hears of a failure passes it on once, so that it also reaches workers that cannot hear
 * the one who found it, for instance because data they have not asked for yet lies in the way. */
#include "transport/transport.h"

#include <inttypes.h>
#include <sched.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "base/clock.h"

#define MILLISECOND INT64_C(1000000)

/* A message between workers that all answer is still not awaited for longer than this many
 * time-outs: by then they wait for one another in a circle. */
#define MOST_TIMEOUTS 10

static int64_t least(int64_t a, int64_t b)
{
    return a < b ? a : b;
}

static int64_t most(int64_t a, int64_t b)
{
    return a > b ? a : b;
}

/* How long to listen for an answer. Those who wait look up every few milliseconds; the rest is for
 * machines with more to do than processors. */
static int64_t grace_ns(const struct syn_group *group)
{
    return least(most(group->timeout_ns / 2, 100 * MILLISECOND), 5000 * MILLISECOND);
}

/* Yielding first makes small messages between cores of one machine fifty times as fast, and
 * halves their time over TCP. */
int64_t syn_group_nap_ns(int64_t waited_ns)
{
    if (waited_ns < MILLISECOND / 20)
        return 0;
    return least(most(waited_ns / 8, MILLISECOND / 50), MILLISECOND);
}

void syn_group_nap(int64_t waited_ns)
{
    struct timespec nap = syn_clock_timespec(syn_group_nap_ns(waited_ns));
    if (nap.tv_nsec == 0)
        sched_yield();
    else
        nanosleep(&nap, NULL);
}

static struct syn_notice notice_of(const struct syn_group *group, enum syn_notice_kind kind,
                                   size_t about)
{
    struct syn_notice notice = {
        .kind = (uint32_t)kind, .from = (uint32_t)group->rank, .about = (uint32_t)about};
    return notice;
}

/* Break the group, once, and tell the others; except, the one who told us, knows already. */
static void spread(struct syn_group *group, enum syn_status status, struct syn_notice notice,
                   size_t except)
{
    group->broken = status;
    notice.from = (uint32_t)group->rank;
    for (size_t peer = 0; peer < group->size; peer++)
        if (peer != group->rank && peer != except)
            group->type->tell(group, peer, &notice);
}

void syn_group_abandon(struct syn_group *group, enum syn_status status, const char *cause)
{
    if (group->broken != SYN_OK)
        return;
    struct syn_notice notice = notice_of(group, SYN_NOTICE_FAILED, group->rank);
    snprintf(notice.text, sizeof notice.text, "%s", cause);
    snprintf(group->cause, sizeof group->cause, "%s", cause);
    spread(group, status, notice, group->rank);
}

static enum syn_status again(const struct syn_group *group)
{
    return syn_fail_again(group->broken, group->cause);
}

/* The transport failed and has said why. */
static enum syn_status abandon(struct syn_group *group, enum syn_status status)
{
    syn_group_abandon(group, status, syn_error_text());
    return again(group);
}

/* This worker finds that another is at fault. */
static enum syn_status accuse(struct syn_group *group, size_t peer, const char *text)
{
    struct syn_notice notice = notice_of(group, SYN_NOTICE_SILENT, peer);
    snprintf(notice.text, sizeof notice.text, "%s", text);
    snprintf(group->cause, sizeof group->cause, "%s", text);
    spread(group, SYN_TIMEOUT, notice, group->rank);
    return syn_fail(SYN_TIMEOUT, "%s", group->cause);
}

/* Another worker says that somebody is at fault. */
static enum syn_status believe(struct syn_group *group, const struct syn_notice *notice)
{
    enum syn_status status = SYN_TIMEOUT;
    if (notice->kind == SYN_NOTICE_FAILED) {
        status = SYN_PEER;
        snprintf(group->cause, sizeof group->cause, "%s failed: %s",
                 syn_group_name(group, notice->about).text, notice->text);
    } else {
        snprintf(group->cause, sizeof group->cause, "%s", notice->text);
    }
    spread(group, status, *notice, notice->from);
    return syn_fail(status, "%s", group->cause);
}

static enum syn_status heed(struct syn_group *group, const struct syn_notice *notice)
{
    if (notice->kind >= SYN_NOTICE_KINDS || notice->from >= group->size ||
        notice->about >= group->size || !memchr(notice->text, '\0', sizeof notice->text)) {
        syn_fail(SYN_FORMAT, "malformed notice: kind %" PRIu32 ", from %" PRIu32 ", about %" PRIu32,
                 notice->kind, notice->from, notice->about);
        return abandon(group, SYN_FORMAT);
    }
    group->heard_ns[notice->from] = syn_clock_ns();
    if (notice->kind == SYN_NOTICE_FAILED || notice->kind == SYN_NOTICE_SILENT)
        return believe(group, notice);
    if (notice->kind == SYN_NOTICE_ASK) {
        struct syn_notice answer = notice_of(group, SYN_NOTICE_HERE, group->rank);
        group->type->tell(group, notice->from, &answer);
    }
    return SYN_OK;
}

static enum syn_status hear_all(struct syn_group *group)
{
    for (;;) {
        struct syn_notice notice;
        bool came = false;
        enum syn_status status = group->type->hear(group, &notice, &came);
        if (status != SYN_OK)
            return abandon(group, status);
        if (!came)
            return SYN_OK;
        SYN_TRY(heed(group, &notice));
    }
}

static enum syn_status start(struct syn_group *group, struct syn_request *request)
{
    request->is_active = false;
    if (group->broken != SYN_OK)
        return again(group);
    if (request->peer >= group->size || request->peer == group->rank)
        return syn_fail(SYN_INVALID, "worker %zu of %zu cannot %s worker %zu", group->rank,
                        group->size, request->is_receive ? "receive from" : "send to",
                        request->peer);
    request->is_active = true;
    int64_t now_ns = syn_clock_ns();
    request->patience = (struct syn_patience){.moved_ns = now_ns, .quiet_ns = now_ns};
    enum syn_status status = group->type->start(group, request);
    if (status == SYN_OK)
        return SYN_OK;
    request->is_active = false;
    return abandon(group, status);
}

enum syn_status syn_group_send(struct syn_group *group, size_t peer, const void *bytes,
                               size_t count, struct syn_request *request)
{
    *request = (struct syn_request){.peer = peer, .count = count, .bytes.send = bytes};
    return start(group, request);
}

enum syn_status syn_group_receive(struct syn_group *group, size_t peer, void *bytes,
                                  size_t capacity, struct syn_request *request)
{
    *request = (struct syn_request){
        .peer = peer, .count = capacity, .is_receive = true, .bytes.receive = bytes};
    return start(group, request);
}

/* Whether it is done, and how much that moved. */
static enum syn_status test_one(struct syn_group *group, struct syn_request *request)
{
    SYN_TRY(group->type->test(group, request));
    if (!request->is_active && request->is_receive)
        group->bytes_in += request->count;
    else if (!request->is_active)
        group->bytes_out += request->count;
    return SYN_OK;
}

/* How many of the requests are still under way. */
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

static void ask_all(struct syn_group *group, const struct syn_request *requests, size_t count)
{
    struct syn_notice question = notice_of(group, SYN_NOTICE_ASK, group->rank);
    for (size_t i = 0; i < count; i++)
        if (requests[i].is_active)
            group->type->tell(group, requests[i].peer, &question);
}

/* The first request whose peer has not been heard of since that moment, or NULL. */
static const struct syn_request *find_silent(const struct syn_group *group,
                                             const struct syn_request *requests, size_t count,
                                             int64_t since_ns)
{
    for (size_t i = 0; i < count; i++)
        if (requests[i].is_active && group->heard_ns[requests[i].peer] < since_ns)
            return &requests[i];
    return NULL;
}

/* Ask, listen or accuse, if it is time to. */
static enum syn_status suspect(struct syn_group *group, const struct syn_request *requests,
                               size_t count, struct syn_patience *patience, int64_t now_ns)
{
    char text[sizeof((struct syn_notice *)NULL)->text];
    if (!patience->asked_ns && now_ns - patience->quiet_ns >= group->timeout_ns) {
        patience->asked_ns = now_ns;
        ask_all(group, requests, count);
    }
    if (!patience->asked_ns || now_ns - patience->asked_ns < grace_ns(group))
        return SYN_OK;

    const struct syn_request *silent = find_silent(group, requests, count, patience->asked_ns);
    int64_t waited_ms = (now_ns - patience->moved_ns) / MILLISECOND;
    if (silent) {
        snprintf(text, sizeof text, "%s stayed silent: %s has waited for it for %" PRId64 " ms",
                 syn_group_name(group, silent->peer).text, syn_group_name(group, group->rank).text,
                 waited_ms);
        return accuse(group, silent->peer, text);
    }
    patience->quiet_ns = now_ns;
    patience->asked_ns = 0;
    if (now_ns - patience->moved_ns < MOST_TIMEOUTS * group->timeout_ns)
        return SYN_OK;
    size_t peer = 0;
    for (size_t i = count; i-- > 0;)
        peer = requests[i].is_active ? requests[i].peer : peer;
    snprintf(text, sizeof text,
             "workers wait in a circle: %s for %s, which answers, for %" PRId64 " ms",
             syn_group_name(group, group->rank).text, syn_group_name(group, peer).text, waited_ms);
    return accuse(group, peer, text);
}

/* When it is time to suspect again. */
static int64_t end_of(const struct syn_group *group, const struct syn_patience *patience)
{
    return patience->asked_ns ? patience->asked_ns + grace_ns(group)
                              : patience->quiet_ns + group->timeout_ns;
}

static void rest(struct syn_group *group, int64_t until_ns, int64_t waited_ns)
{
    if (!group->type->doze || !group->type->doze(group, until_ns, waited_ns))
        syn_group_nap(waited_ns);
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
            abandon(group, status);
            return;
        }
        if (left == 0)
            return;
        int64_t now_ns = syn_clock_ns();
        if (left < left_before)
            patience = (struct syn_patience){.moved_ns = now_ns, .quiet_ns = now_ns};
        left_before = left;
        if (suspect(group, requests, count, &patience, now_ns) != SYN_OK)
            return;
        rest(group, end_of(group, &patience), now_ns - patience.moved_ns);
        hear_all(group); /* not between test and rest: it may take in what was to end the rest */
    }
}

enum syn_status syn_group_wait(struct syn_group *group, struct syn_request *requests, size_t count)
{
    wait_all(group, requests, count);
    if (group->broken == SYN_OK)
        return SYN_OK;
    cancel_all(group, requests, count);
    return again(group);
}

/* Look for one that is done behind number *which, in a circle; those not looked at stay as they
 * are. */
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

/* Suspect the peer of each request by itself.
 *   until_ns  when to do so again */
static enum syn_status suspect_each(struct syn_group *group, struct syn_request *requests,
                                    size_t count, int64_t now_ns, int64_t *until_ns)
{
    *until_ns = INT64_MAX;
    for (size_t i = 0; i < count; i++) {
        if (!requests[i].is_active)
            continue;
        SYN_TRY(suspect(group, &requests[i], 1, &requests[i].patience, now_ns));
        *until_ns = least(*until_ns, end_of(group, &requests[i].patience));
    }
    return SYN_OK;
}

/* Returns when one is done, or when the group is broken. */
static void wait_one(struct syn_group *group, struct syn_request *requests, size_t count,
                     size_t *which)
{
    int64_t began_ns = syn_clock_ns();
    while (group->broken == SYN_OK && hear_all(group) == SYN_OK) {
        bool is_found = false;
        enum syn_status status = test_until_done(group, requests, count, which, &is_found);
        if (status != SYN_OK)
            abandon(group, status);
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
    if (active == 0 && group->broken == SYN_OK)
        return syn_fail(SYN_INVALID, "waiting for one of no requests");
    if (active > 0)
        wait_one(group, requests, count, which);
    if (group->broken == SYN_OK)
        return SYN_OK;
    cancel_all(group, requests, count);
    return again(group);
}

/* Whom to suspect, and when. Only silence is suspicious: a member that answers, or moves bytes, is
 * waited for, however long it computes. */
#include <inttypes.h>
#include <stdio.h>

#include "base/clock.h"
#include "transport/alive.h"

/* After this many time-outs, a search for members that wait in a circle begins. */
#define MOST_TIMEOUTS 10

static int64_t least(int64_t a, int64_t b)
{
    return a < b ? a : b;
}

static int64_t most(int64_t a, int64_t b)
{
    return a > b ? a : b;
}

/* A member that was sent a ping checks several times within this period; the rest is margin for
 * overloaded machines. */
int64_t syn_suspect_grace_ns(const struct syn_group *group)
{
    return least(most(group->timeout_ns / 2, 1000 * SYN_MILLISECOND), 5000 * SYN_MILLISECOND);
}

static bool is_circle_likely(const struct syn_group *group, const struct syn_patience *patience,
                             int64_t now_ns)
{
    return now_ns - patience->moved_ns >= MOST_TIMEOUTS * group->timeout_ns;
}

static void ping(struct syn_group *group, const struct syn_request *requests, size_t count,
                 bool is_everyone)
{
    for (size_t i = 0; i < count && !is_everyone; i++)
        if (requests[i].is_active)
            syn_control_ping(group, requests[i].peer);
    for (size_t peer = 0; peer < group->size && is_everyone; peer++)
        if (peer != group->rank)
            syn_control_ping(group, peer);
}

/* Accuse the peer: what it did, who waits for it, for how long, and by which setting. */
static enum syn_status accuse(struct syn_group *group, size_t peer, const char *does,
                              int64_t waited_ns)
{
    char text[sizeof((struct syn_control *)NULL)->text];
    snprintf(text, sizeof text,
             "%s %s: %s has waited for it for %" PRId64 " ms (timeout_ms, --timeout-ms: %" PRId64
             ")",
             syn_group_name(group, peer).text, does, syn_group_name(group, group->rank).text,
             waited_ns / SYN_MILLISECOND, group->timeout_ns / SYN_MILLISECOND);
    return syn_control_accuse(group, peer, text);
}

static enum syn_status accuse_circle(struct syn_group *group, size_t peer, int64_t waited_ns)
{
    char text[sizeof((struct syn_control *)NULL)->text];
    snprintf(text, sizeof text,
             "workers wait in a circle: %s for %s, which answers, for %" PRId64
             " ms (timeout_ms, --timeout-ms: %" PRId64 ")",
             syn_group_name(group, group->rank).text, syn_group_name(group, peer).text,
             waited_ns / SYN_MILLISECOND, group->timeout_ns / SYN_MILLISECOND);
    return syn_control_accuse(group, peer, text);
}

/* Decide after everyone has had time to answer. */
static enum syn_status decide(struct syn_group *group, const struct syn_request *requests,
                              size_t count, struct syn_patience *patience, int64_t now_ns)
{
    int64_t waited_ns = now_ns - patience->moved_ns;
    size_t waited_for = 0;
    for (size_t i = count; i-- > 0;) {
        const struct syn_request *request = &requests[i];
        if (!request->is_active)
            continue;
        const struct syn_peer *peer = &group->peers[request->peer];
        waited_for = request->peer;
        if (peer->heard_ns < patience->pinged_ns && !group->forgives_silence &&
            now_ns - peer->heard_ns >= group->timeout_ns + syn_suspect_grace_ns(group))
            return accuse(group, request->peer, "stayed silent", waited_ns);
        if (peer->said_ns >= patience->pinged_ns && peer->doing == SYN_DOING_LEFT &&
            syn_circle_is_dry(group, request))
            return accuse(group, request->peer, "has closed", waited_ns);
    }
    bool is_closed = is_circle_likely(group, patience, patience->pinged_ns) &&
                     syn_circle_is_closed(group, patience->pinged_ns);
    patience->quiet_ns = now_ns;
    patience->pinged_ns = 0;
    return is_closed ? accuse_circle(group, waited_for, waited_ns) : SYN_OK;
}

enum syn_status syn_suspect(struct syn_group *group, const struct syn_request *requests,
                            size_t count, struct syn_patience *patience, int64_t now_ns)
{
    if (!patience->pinged_ns && now_ns - patience->quiet_ns >= group->timeout_ns) {
        patience->pinged_ns = now_ns;
        ping(group, requests, count, is_circle_likely(group, patience, now_ns));
    }
    if (!patience->pinged_ns || now_ns - patience->pinged_ns < syn_suspect_grace_ns(group))
        return SYN_OK;
    return decide(group, requests, count, patience, now_ns);
}

int64_t syn_suspect_next(const struct syn_group *group, const struct syn_patience *patience)
{
    return patience->pinged_ns ? patience->pinged_ns + syn_suspect_grace_ns(group)
                               : patience->quiet_ns + group->timeout_ns;
}

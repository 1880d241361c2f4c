/* Control messages, which members send each other besides the data: pings and pongs, and how a
 * failure reaches everyone.
 *
 * A member that learns of a failure forwards it once, so that it also reaches workers that cannot
 * receive from the one that found it, for instance because data that they have not requested yet is
 * in front of it. */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/clock.h"
#include "transport/alive.h"

/* How long to wait, after a connection has failed, for a message from a member that knows the
 * cause. */
#define LISTEN_NS (500 * SYN_MILLISECOND)

static struct syn_control control_of(const struct syn_group *group, enum syn_control_kind kind,
                                     size_t about)
{
    struct syn_control control = {.kind = (uint32_t)kind,
                                  .from = (uint32_t)group->rank,
                                  .about = (uint32_t)about,
                                  .session = group->entered};
    return control;
}

/* Break the group, once, and tell the others, apart from `except`, which told us. */
static void spread(struct syn_group *group, enum syn_status status, struct syn_control control,
                   size_t except)
{
    group->broken = status;
    control.from = (uint32_t)group->rank;
    for (size_t peer = 0; peer < group->size; peer++)
        if (peer != group->rank && peer != except)
            group->type->send_control(group, peer, &control);
}

void syn_control_abandon(struct syn_group *group, enum syn_status status, const char *cause)
{
    if (group->broken != SYN_OK)
        return;
    struct syn_control control = control_of(group, SYN_CONTROL_FAILED, group->rank);
    snprintf(control.text, sizeof control.text, "%s", cause);
    snprintf(group->cause, sizeof group->cause, "%s", cause);
    spread(group, status, control, group->rank);
}

enum syn_status syn_control_fail_again(const struct syn_group *group)
{
    return syn_fail_again(group->broken, group->cause);
}

static enum syn_status blame(struct syn_group *group, enum syn_control_kind kind, size_t peer,
                             enum syn_status status, const char *text)
{
    struct syn_control control = control_of(group, kind, peer);
    snprintf(control.text, sizeof control.text, "%s", text);
    snprintf(group->cause, sizeof group->cause, "%s", text);
    spread(group, status, control, group->rank);
    return syn_fail(status, "%s", group->cause);
}

enum syn_status syn_control_accuse(struct syn_group *group, size_t peer, const char *text)
{
    return blame(group, SYN_CONTROL_SILENT, peer, SYN_TIMEOUT, text);
}

/* Another member reports that some member is at fault. */
static enum syn_status believe(struct syn_group *group, const struct syn_control *control)
{
    enum syn_status status = control->kind == SYN_CONTROL_SILENT ? SYN_TIMEOUT : SYN_PEER;
    if (control->kind == SYN_CONTROL_FAILED)
        snprintf(group->cause, sizeof group->cause, "%s failed: %s",
                 syn_group_name(group, control->about).text, control->text);
    else
        snprintf(group->cause, sizeof group->cause, "%s", control->text);
    spread(group, status, *control, control->from);
    return syn_fail(status, "%s", group->cause);
}

enum syn_status syn_group_lost(struct syn_group *group, size_t peer)
{
    group->lost = peer;
    return SYN_PEER;
}

/* A connection has failed. Its other end may have died, or may have given up for a reason that
 * another member knows: if that reason arrives in time, it is used. */
static enum syn_status lose(struct syn_group *group)
{
    size_t peer = group->lost;
    char text[sizeof((struct syn_control *)NULL)->text];
    snprintf(text, sizeof text, "%s died or lost its connection to %s: %s",
             syn_group_name(group, peer).text, syn_group_name(group, group->rank).text,
             syn_error_text());
    int64_t end_ns = syn_clock_ns() + LISTEN_NS;
    for (int64_t left_ns = LISTEN_NS; left_ns > 0; left_ns = end_ns - syn_clock_ns()) {
        struct syn_control control;
        bool came = false;
        if (group->type->receive_control(group, &control, &came) == SYN_OK && came &&
            control.kind >= SYN_CONTROL_FAILED && control.kind < SYN_CONTROL_KINDS &&
            control.about < group->size && control.from < group->size &&
            memchr(control.text, '\0', sizeof control.text))
            return believe(group, &control);
        if (!came)
            syn_group_back_off(LISTEN_NS - left_ns);
    }
    return blame(group, SYN_CONTROL_LOST, peer, SYN_PEER, text);
}

enum syn_status syn_control_fail(struct syn_group *group, enum syn_status status)
{
    if (group->broken == SYN_OK && status == SYN_PEER)
        return lose(group);
    syn_control_abandon(group, status, syn_error_text());
    return syn_control_fail_again(group);
}

void syn_control_ping(struct syn_group *group, size_t peer)
{
    struct syn_control ping = control_of(group, SYN_CONTROL_PING, group->rank);
    group->type->send_control(group, peer, &ping);
}

/* List the peers that we wait for and that have not begun their part; none if any one request would
 * be enough and its peer has begun. */
static void list_waits(const struct syn_group *group, struct syn_control *pong)
{
    const struct syn_waiting *waiting = &group->waiting;
    for (size_t i = 0; i < waiting->count; i++) {
        const struct syn_request *request = &waiting->requests[i];
        if (!request->is_active)
            continue;
        bool is_dry = syn_circle_is_dry(group, request);
        if (is_dry && pong->wait_count < SYN_CONTROL_WAITS) {
            pong->waits[pong->wait_count++] = (uint32_t)request->peer;
        } else if (waiting->is_any) {
            pong->wait_count = 0;
            return;
        }
    }
}

struct syn_control syn_control_pong(const struct syn_group *group, size_t peer)
{
    struct syn_control pong = control_of(group, SYN_CONTROL_PONG, group->rank);
    pong.moves = group->moves;
    pong.sends = group->peers[peer].sends;
    pong.receives = group->peers[peer].receives;
    if (!group->waiting.requests)
        return pong;
    pong.doing = group->waiting.is_any ? SYN_DOING_WAIT_ANY : SYN_DOING_WAIT_ALL;
    list_waits(group, &pong);
    return pong;
}

void syn_group_send_pong(struct syn_group *group, size_t peer)
{
    struct syn_control pong = syn_control_pong(group, peer);
    group->type->send_control(group, peer, &pong);
}

/* All members count sessions alike: a member that has ended the session the other is in has left
 * it. */
static void answer(struct syn_group *group, const struct syn_control *ping)
{
    struct syn_control pong = syn_control_pong(group, ping->from);
    if (ping->session > 0 && group->departed >= ping->session)
        pong.doing = SYN_DOING_LEFT;
    group->type->send_control(group, ping->from, &pong);
}

static void keep(struct syn_group *group, const struct syn_control *pong)
{
    struct syn_peer *peer = &group->peers[pong->from];
    peer->said_ns = syn_clock_ns();
    if (peer->doing != pong->doing || peer->moves != pong->moves || peer->steady_ns == 0)
        peer->steady_ns = peer->said_ns;
    peer->doing = pong->doing;
    peer->moves = pong->moves;
    peer->their_sends = pong->sends;
    peer->their_receives = pong->receives;
    syn_circle_note(group, pong);
}

static enum syn_status heed(struct syn_group *group, const struct syn_control *control)
{
    if (control->kind >= SYN_CONTROL_KINDS || control->from >= group->size ||
        control->about >= group->size || control->wait_count > SYN_CONTROL_WAITS ||
        !memchr(control->text, '\0', sizeof control->text)) {
        syn_fail(SYN_FORMAT,
                 "malformed control message: kind %" PRIu32 ", from %" PRIu32 ", about %" PRIu32,
                 control->kind, control->from, control->about);
        return syn_control_fail(group, SYN_FORMAT);
    }
    group->peers[control->from].heard_ns = syn_clock_ns();
    if (control->kind >= SYN_CONTROL_FAILED)
        return believe(group, control);
    if (control->kind == SYN_CONTROL_PING)
        answer(group, control);
    else
        keep(group, control);
    return SYN_OK;
}

enum syn_status syn_control_receive(struct syn_group *group)
{
    for (;;) {
        struct syn_control control;
        bool came = false;
        enum syn_status status = group->type->receive_control(group, &control, &came);
        if (status != SYN_OK)
            return syn_control_fail(group, status);
        if (!came)
            return SYN_OK;
        SYN_TRY(heed(group, &control));
    }
}

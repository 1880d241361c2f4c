/* What members tell one another beside the data: questions and answers, and how a failure reaches
 * everybody.
 *
 * Whoever hears of a failure passes it on once, so that it also reaches workers that cannot hear
 * the one who found it, for instance because data they have not asked for yet lies in the way. */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/clock.h"
#include "transport/alive.h"

/* How long to listen, after a connection has failed, for somebody who knows the cause. */
#define LISTEN_NS (500 * SYN_MILLISECOND)

static struct syn_notice notice_of(const struct syn_group *group, enum syn_notice_kind kind,
                                   size_t about)
{
    struct syn_notice notice = {.kind = (uint32_t)kind,
                                .from = (uint32_t)group->rank,
                                .about = (uint32_t)about,
                                .session = group->entered};
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

void syn_notices_abandon(struct syn_group *group, enum syn_status status, const char *cause)
{
    if (group->broken != SYN_OK)
        return;
    struct syn_notice notice = notice_of(group, SYN_NOTICE_FAILED, group->rank);
    snprintf(notice.text, sizeof notice.text, "%s", cause);
    snprintf(group->cause, sizeof group->cause, "%s", cause);
    spread(group, status, notice, group->rank);
}

enum syn_status syn_notices_again(const struct syn_group *group)
{
    return syn_fail_again(group->broken, group->cause);
}

static enum syn_status blame(struct syn_group *group, enum syn_notice_kind kind, size_t peer,
                             enum syn_status status, const char *text)
{
    struct syn_notice notice = notice_of(group, kind, peer);
    snprintf(notice.text, sizeof notice.text, "%s", text);
    snprintf(group->cause, sizeof group->cause, "%s", text);
    spread(group, status, notice, group->rank);
    return syn_fail(status, "%s", group->cause);
}

enum syn_status syn_notices_accuse(struct syn_group *group, size_t peer, const char *text)
{
    return blame(group, SYN_NOTICE_SILENT, peer, SYN_TIMEOUT, text);
}

/* Another member says that somebody is at fault. */
static enum syn_status believe(struct syn_group *group, const struct syn_notice *notice)
{
    enum syn_status status = notice->kind == SYN_NOTICE_SILENT ? SYN_TIMEOUT : SYN_PEER;
    if (notice->kind == SYN_NOTICE_FAILED)
        snprintf(group->cause, sizeof group->cause, "%s failed: %s",
                 syn_group_name(group, notice->about).text, notice->text);
    else
        snprintf(group->cause, sizeof group->cause, "%s", notice->text);
    spread(group, status, *notice, notice->from);
    return syn_fail(status, "%s", group->cause);
}

enum syn_status syn_group_lost(struct syn_group *group, size_t peer)
{
    group->lost = peer;
    return SYN_PEER;
}

/* A connection has failed. Its other end may have died, or may have given up for a reason that
 * somebody else knows: who is told of one in time believes that. */
static enum syn_status lose(struct syn_group *group)
{
    size_t peer = group->lost;
    char text[sizeof((struct syn_notice *)NULL)->text];
    snprintf(text, sizeof text, "%s died or lost its connection to %s: %s",
             syn_group_name(group, peer).text, syn_group_name(group, group->rank).text,
             syn_error_text());
    int64_t end_ns = syn_clock_ns() + LISTEN_NS;
    for (int64_t left_ns = LISTEN_NS; left_ns > 0; left_ns = end_ns - syn_clock_ns()) {
        struct syn_notice notice;
        bool came = false;
        if (group->type->hear(group, &notice, &came) == SYN_OK && came &&
            notice.kind >= SYN_NOTICE_FAILED && notice.kind < SYN_NOTICE_KINDS &&
            notice.about < group->size && notice.from < group->size &&
            memchr(notice.text, '\0', sizeof notice.text))
            return believe(group, &notice);
        if (!came)
            syn_group_back_off(LISTEN_NS - left_ns);
    }
    return blame(group, SYN_NOTICE_LOST, peer, SYN_PEER, text);
}

enum syn_status syn_notices_fail(struct syn_group *group, enum syn_status status)
{
    if (group->broken == SYN_OK && status == SYN_PEER)
        return lose(group);
    syn_notices_abandon(group, status, syn_error_text());
    return syn_notices_again(group);
}

void syn_notices_ask(struct syn_group *group, size_t peer)
{
    struct syn_notice question = notice_of(group, SYN_NOTICE_ASK, group->rank);
    group->type->tell(group, peer, &question);
}

/* Those whom we wait for in vain; none if one that has begun its part would be enough. */
static void list_waits(const struct syn_group *group, struct syn_notice *here)
{
    const struct syn_waiting *waiting = &group->waiting;
    for (size_t i = 0; i < waiting->count; i++) {
        const struct syn_request *request = &waiting->requests[i];
        if (!request->is_active)
            continue;
        bool is_dry = syn_circle_is_dry(group, request);
        if (is_dry && here->wait_count < SYN_NOTICE_WAITS) {
            here->waits[here->wait_count++] = (uint32_t)request->peer;
        } else if (waiting->is_any) {
            here->wait_count = 0;
            return;
        }
    }
}

struct syn_notice syn_notices_here(const struct syn_group *group, size_t peer)
{
    struct syn_notice here = notice_of(group, SYN_NOTICE_HERE, group->rank);
    here.moves = group->moves;
    here.sends = group->peers[peer].sends;
    here.receives = group->peers[peer].receives;
    if (!group->waiting.requests)
        return here;
    here.doing = group->waiting.is_any ? SYN_DOING_WAIT_ANY : SYN_DOING_WAIT_ALL;
    list_waits(group, &here);
    return here;
}

void syn_group_tell_here(struct syn_group *group, size_t peer)
{
    struct syn_notice here = syn_notices_here(group, peer);
    group->type->tell(group, peer, &here);
}

/* Sessions are counted alike by all: who has ended the one that the other is at has left it. */
static void answer(struct syn_group *group, const struct syn_notice *question)
{
    struct syn_notice here = syn_notices_here(group, question->from);
    if (question->session > 0 && group->departed >= question->session)
        here.doing = SYN_DOING_LEFT;
    group->type->tell(group, question->from, &here);
}

static void keep(struct syn_group *group, const struct syn_notice *here)
{
    struct syn_peer *peer = &group->peers[here->from];
    peer->said_ns = syn_clock_ns();
    if (peer->doing != here->doing || peer->moves != here->moves || peer->steady_ns == 0)
        peer->steady_ns = peer->said_ns;
    peer->doing = here->doing;
    peer->moves = here->moves;
    peer->their_sends = here->sends;
    peer->their_receives = here->receives;
    syn_circle_note(group, here);
}

static enum syn_status heed(struct syn_group *group, const struct syn_notice *notice)
{
    if (notice->kind >= SYN_NOTICE_KINDS || notice->from >= group->size ||
        notice->about >= group->size || notice->wait_count > SYN_NOTICE_WAITS ||
        !memchr(notice->text, '\0', sizeof notice->text)) {
        syn_fail(SYN_FORMAT, "malformed notice: kind %" PRIu32 ", from %" PRIu32 ", about %" PRIu32,
                 notice->kind, notice->from, notice->about);
        return syn_notices_fail(group, SYN_FORMAT);
    }
    group->peers[notice->from].heard_ns = syn_clock_ns();
    if (notice->kind >= SYN_NOTICE_FAILED)
        return believe(group, notice);
    if (notice->kind == SYN_NOTICE_ASK)
        answer(group, notice);
    else
        keep(group, notice);
    return SYN_OK;
}

enum syn_status syn_notices_hear(struct syn_group *group)
{
    for (;;) {
        struct syn_notice notice;
        bool came = false;
        enum syn_status status = group->type->hear(group, &notice, &came);
        if (status != SYN_OK)
            return syn_notices_fail(group, status);
        if (!came)
            return SYN_OK;
        SYN_TRY(heed(group, &notice));
    }
}

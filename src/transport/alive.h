/* Who is alive, as the files of this folder share it: notices.c says and hears, suspect.c decides
 * whom to ask and whom to accuse, circle.c finds those who wait for one another. The group's mutex
 * is held in all of these. */
#ifndef SYN_TRANSPORT_ALIVE_H
#define SYN_TRANSPORT_ALIVE_H

#include "transport/transport.h"

#define SYN_MILLISECOND INT64_C(1000000)

/* Break the group for a reason of our own and tell the others, if it is not broken yet. */
void syn_notices_abandon(struct syn_group *group, enum syn_status status, const char *cause);

/* The transport failed with that status and has said why: break the group and tell the others.
 * Returns the status of the group. */
enum syn_status syn_notices_fail(struct syn_group *group, enum syn_status status);

/* Find another member at fault, for the reason in text: break the group and tell the others. */
enum syn_status syn_notices_accuse(struct syn_group *group, size_t peer, const char *text);

/* Say the first failure again. */
enum syn_status syn_notices_again(const struct syn_group *group);

/* Hear and answer what has come. Fails if the group is broken by it. */
enum syn_status syn_notices_hear(struct syn_group *group);

/* Ask a peer whether it is there. */
void syn_notices_ask(struct syn_group *group, size_t peer);

/* What this member does, as it would tell that peer. */
struct syn_notice syn_notices_here(const struct syn_group *group, size_t peer);

/* Ask, listen or accuse, if it is time to. */
enum syn_status syn_suspect(struct syn_group *group, const struct syn_request *requests,
                            size_t count, struct syn_patience *patience, int64_t now_ns);

/* When it is time for that again. */
int64_t syn_suspect_next(const struct syn_group *group, const struct syn_patience *patience);

/* How long to listen for an answer. */
int64_t syn_suspect_grace_ns(const struct syn_group *group);

/* Whether the peer has not even begun what would end this request, by what it last said. */
bool syn_circle_is_dry(const struct syn_group *group, const struct syn_request *request);

/* Keep what a member says that it waits for. */
void syn_circle_note(struct syn_group *group, const struct syn_notice *here);

/* Whether this member is one of those that wait for one another, by what has been heard since that
 * moment, when all were asked. The first call only begins to take notes. */
bool syn_circle_is_closed(struct syn_group *group, int64_t asked_ns);

void syn_circle_free(struct syn_group *group);

#endif

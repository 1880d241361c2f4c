/* Who is alive, as the files of this folder share it: control.c says and hears, suspect.c decides
 * whom to ping and whom to accuse, circle.c finds those who wait for one another. The group's mutex
 * is held in all of these. */
#ifndef SYN_TRANSPORT_ALIVE_H
#define SYN_TRANSPORT_ALIVE_H

#include "transport/transport.h"

#define SYN_MILLISECOND INT64_C(1000000)

/* Break the group for a reason of our own and tell the others, if it is not broken yet. */
void syn_control_abandon(struct syn_group *group, enum syn_status status, const char *cause);

/* The transport failed with that status and has said why: break the group and tell the others.
 * Returns the status of the group. */
enum syn_status syn_control_fail(struct syn_group *group, enum syn_status status);

/* Find another member at fault, for the reason in text: break the group and tell the others. */
enum syn_status syn_control_accuse(struct syn_group *group, size_t peer, const char *text);

/* Say the first failure again. */
enum syn_status syn_control_fail_again(const struct syn_group *group);

/* Receive and answer the control messages that have come. Fails if the group is broken by it. */
enum syn_status syn_control_receive(struct syn_group *group);

/* Send a ping. */
void syn_control_ping(struct syn_group *group, size_t peer);

/* What this member would answer that peer: what it does. */
struct syn_control syn_control_pong(const struct syn_group *group, size_t peer);

/* Ping, listen or accuse, if it is time to. */
enum syn_status syn_suspect(struct syn_group *group, const struct syn_request *requests,
                            size_t count, struct syn_patience *patience, int64_t now_ns);

/* When it is time for that again. */
int64_t syn_suspect_next(const struct syn_group *group, const struct syn_patience *patience);

/* How long to listen for an answer. */
int64_t syn_suspect_grace_ns(const struct syn_group *group);

/* Whether the peer has not even begun what would end this request, by what it last said. */
bool syn_circle_is_dry(const struct syn_group *group, const struct syn_request *request);

/* Keep what a member says that it waits for. */
void syn_circle_note(struct syn_group *group, const struct syn_control *pong);

/* Whether this member is one of those that wait for one another, by the pongs since that
 * moment, when all were sent a ping. The first call only begins to take notes. */
bool syn_circle_is_closed(struct syn_group *group, int64_t pinged_ns);

void syn_circle_free(struct syn_group *group);

#endif

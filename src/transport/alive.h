/* Liveness checks, shared by the files of this folder: control.c sends and receives control
 * messages, suspect.c decides whom to ping and whom to accuse, circle.c finds members that wait for
 * each other. The group's mutex is held in all of these. */
#ifndef SYN_TRANSPORT_ALIVE_H
#define SYN_TRANSPORT_ALIVE_H

#include "transport/transport.h"

#define SYN_MILLISECOND INT64_C(1000000)

/* Break the group for a failure of this member and tell the others, if it is not broken yet. */
void syn_control_abandon(struct syn_group *group, enum syn_status status, const char *cause);

/* The transport failed with that status and has set the cause: break the group and tell the others.
 * Returns the status of the group. */
enum syn_status syn_control_fail(struct syn_group *group, enum syn_status status);

/* Accuse another member, for the reason in text: break the group and tell the others. */
enum syn_status syn_control_accuse(struct syn_group *group, size_t peer, const char *text);

/* Return the first failure again. */
enum syn_status syn_control_fail_again(const struct syn_group *group);

/* Receive and answer the control messages that have arrived. Fails if one of them breaks the
 * group. */
enum syn_status syn_control_receive(struct syn_group *group);

/* Send a ping. */
void syn_control_ping(struct syn_group *group, size_t peer);

/* The pong with which this member would answer that peer: what it is doing. */
struct syn_control syn_control_pong(const struct syn_group *group, size_t peer);

/* Ping, listen or accuse, if it is time to. */
enum syn_status syn_suspect(struct syn_group *group, const struct syn_request *requests,
                            size_t count, struct syn_patience *patience, int64_t now_ns);

/* When syn_suspect() is due again. */
int64_t syn_suspect_next(const struct syn_group *group, const struct syn_patience *patience);

/* How long to wait for an answer. */
int64_t syn_suspect_grace_ns(const struct syn_group *group);

/* Whether, by its last pong, the peer has not even begun what would complete this request. */
bool syn_circle_is_dry(const struct syn_group *group, const struct syn_request *request);

/* Record what a member reports to be waiting for. */
void syn_circle_note(struct syn_group *group, const struct syn_control *pong);

/* Whether this member is one of those that wait for each other, according to the pongs since
 * pinged_ns, when all were sent a ping. The first call only starts recording. */
bool syn_circle_is_closed(struct syn_group *group, int64_t pinged_ns);

void syn_circle_free(struct syn_group *group);

#endif

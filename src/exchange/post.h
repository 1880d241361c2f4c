/* A round in which every message is under way at once: receives are posted first, so that nothing
 * that comes has to be kept elsewhere; then the sends; then all are waited for. */
#ifndef SYN_EXCHANGE_POST_H
#define SYN_EXCHANGE_POST_H

#include <stddef.h>
#include <stdint.h>

#include "topology/rounds.h"
#include "transport/transport.h"

struct syn_post {
    struct syn_group *group;
    struct syn_request *requests; /* [2 * workers]: receives, then sends */
    struct syn_round round;       /* under way */
};

/* Take memory for a round with every other worker. */
enum syn_status syn_post_open(struct syn_group *group, struct syn_post *post);
void syn_post_close(struct syn_post *post);

/* Begin round `number`, if it is one of this worker's, with its receives.
 *   room  [workers][each] for what comes, by sender */
enum syn_status syn_post_begin(struct syn_post *post, syn_rounds *rounds, size_t number,
                               uint8_t *room, size_t each);

/* To whom message number i of the round goes; there are post->round.send.count. */
size_t syn_post_peer(const struct syn_post *post, size_t i);

/* Begin to send to that peer; the bytes stay unchanged until the round is over. */
enum syn_status syn_post_send(struct syn_post *post, size_t peer, const uint8_t *bytes,
                              size_t count);

/* Wait for what was begun, also if something could not be.
 *   status  of what was done since the round began; the group is abandoned if it failed */
enum syn_status syn_post_finish(struct syn_post *post, enum syn_status status);

/* Bytes that came from a peer. */
size_t syn_post_came(const struct syn_post *post, size_t peer);

#endif

/* A round in which all messages are under way at once: receives are posted first, so that no
 * incoming message has to be buffered elsewhere; then the sends; then all are waited for. */
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

/* Allocate memory for a round with every other worker. */
enum syn_status syn_post_open(struct syn_group *group, struct syn_post *post);
void syn_post_close(struct syn_post *post);

/* Begin round `number`, if this worker takes part in it, by posting its receives.
 *   room  [workers][each] for what is received, by sender */
enum syn_status syn_post_begin(struct syn_post *post, syn_rounds *rounds, size_t number,
                               uint8_t *room, size_t each);

/* The receiver of message number i of the round; there are post->round.send.count messages. */
size_t syn_post_peer(const struct syn_post *post, size_t i);

/* Begin to send to that peer; the bytes must stay unchanged until the round is over. */
enum syn_status syn_post_send(struct syn_post *post, size_t peer, const uint8_t *bytes,
                              size_t count);

/* Wait for all messages that were begun, even if some could not be.
 *   status  of the calls since the round began; the group is abandoned if one failed */
enum syn_status syn_post_finish(struct syn_post *post, enum syn_status status);

/* Bytes received from a peer. */
size_t syn_post_came(const struct syn_post *post, size_t peer);

#endif

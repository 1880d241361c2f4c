/* Waiting for messages without looking for them again and again.
 *
 * MPI has no call that sleeps until a message comes. But an MPI that talks over sockets has the
 * kernel watch them, and what it watches them with can be watched in turn: a bell that rings when
 * there is something to read, or room to write.
 *
 * Nobody promises that it rings: messages may come through shared memory or by a network card of
 * another kind. So it is believed while it announces nearly all messages that were waited for;
 * otherwise nobody sleeps longer because of it than without.
 *
 * Nor is it known whose a descriptor is. It may belong to the host program, which closes it, opens
 * something else under its number, or leaves it ready for ever. So one that is no bell any more is
 * let go, and after rings for nothing there are ever more plain naps: nobody spins. */
#ifndef SYN_TRANSPORT_BELL_H
#define SYN_TRANSPORT_BELL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define SYN_BELL_MOST 8

struct syn_bell {
    int watchers[SYN_BELL_MOST]; /* epoll descriptors of this process */
    size_t count;
    bool has_rung;    /* since a message last came */
    bool was_silent;  /* for a whole sleep, since then */
    uint32_t in_vain; /* rings since a message last came */
    uint32_t naps;    /* plain ones to come before it is listened to again */
    int32_t trust;    /* grows with messages that it announced, shrinks with others */
};

/* Find what MPI has its sockets watched with; none is found where there is none. */
void syn_bell_open(struct syn_bell *bell);

/* Sleep until it rings: until that moment if it is to be believed, else for nap_ns at most. Returns
 * false if it did not sleep, because it rang for nothing or there is no bell (any more). */
bool syn_bell_await(struct syn_bell *bell, int64_t until_ns, int64_t nap_ns);

/* A message has come. */
void syn_bell_learn(struct syn_bell *bell);

#endif

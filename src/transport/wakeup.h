/* Waiting for messages without polling.
 *
 * MPI has no call that sleeps until a message arrives. But an MPI that uses sockets watches them
 * with epoll, and an epoll descriptor can itself be watched: it wakes a sleeping thread when there
 * is something to read, or room to write.
 *
 * Nothing guarantees such a wake-up: messages may arrive through shared memory or another kind of
 * network card. So wake-ups are trusted only while they announce nearly all messages that were
 * waited for; otherwise no sleep is longer than it would be without them.
 *
 * The owner of a descriptor is not known either. It may belong to the host program, which closes
 * it, opens something else under its number, or leaves it ready forever. So a descriptor that is no
 * longer an epoll is dropped, and spurious wake-ups are followed by more and more plain sleeps: no
 * thread spins. */
#ifndef SYN_TRANSPORT_WAKEUP_H
#define SYN_TRANSPORT_WAKEUP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define SYN_WAKEUP_MOST 8

struct syn_wakeup {
    int watchers[SYN_WAKEUP_MOST]; /* epoll descriptors of this process */
    size_t count;
    bool has_woken;    /* since the last message */
    bool was_silent;   /* for a whole sleep, since then */
    uint32_t spurious; /* wake-ups since the last message */
    uint32_t sleeps;   /* plain sleeps left before the next wake-up is waited for */
    int32_t trust;     /* grows with announced messages, shrinks with others */
};

/* Find the epoll descriptors with which MPI watches its sockets, if there are any. */
void syn_wakeup_open(struct syn_wakeup *wakeup);

/* Sleep until something wakes us, at most until until_ns if wake-ups are trusted, otherwise for at
 * most back_off_ns. Returns false if it did not sleep, because the last wake-up was spurious or
 * there is no descriptor to wait on (any more). */
bool syn_wakeup_wait(struct syn_wakeup *wakeup, int64_t until_ns, int64_t back_off_ns);

/* A message has arrived. */
void syn_wakeup_learn(struct syn_wakeup *wakeup);

#endif

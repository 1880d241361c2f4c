/* Waiting for messages without polling for them.
 *
 * MPI has no call that sleeps until a message comes. But an MPI that talks over sockets has the
 * kernel watch them with epoll, and an epoll descriptor can itself be watched: it wakes a sleeper
 * when there is something to read, or room to write.
 *
 * Nothing guarantees such a wake-up: messages may come through shared memory or by a network card
 * of another kind. So wake-ups are trusted only while they announce nearly all messages that were
 * waited for; otherwise nobody sleeps longer because of them than without.
 *
 * Nor is it known who owns a descriptor. It may belong to the host program, which closes it, opens
 * something else under its number, or leaves it ready for ever. So a descriptor that is no epoll
 * any more is dropped, and spurious wake-ups are followed by more and more plain sleeps: nobody
 * spins. */
#ifndef SYN_TRANSPORT_WAKEUP_H
#define SYN_TRANSPORT_WAKEUP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define SYN_WAKEUP_MOST 8

struct syn_wakeup {
    int watchers[SYN_WAKEUP_MOST]; /* epoll descriptors of this process */
    size_t count;
    bool has_woken;    /* since a message last came */
    bool was_silent;   /* for a whole sleep, since then */
    uint32_t spurious; /* wake-ups since a message last came */
    uint32_t sleeps;   /* plain ones to come before the next wake-up is waited for */
    int32_t trust;     /* grows with messages that it announced, shrinks with others */
};

/* Find what MPI has its sockets watched with; none is found where there is none. */
void syn_wakeup_open(struct syn_wakeup *wakeup);

/* Sleep until something wakes us: until that moment if wake-ups are trusted, else for back_off_ns
 * at most. Returns false if it did not sleep, because the last wake-up was spurious or there is no
 * descriptor to wait on (any more). */
bool syn_wakeup_wait(struct syn_wakeup *wakeup, int64_t until_ns, int64_t back_off_ns);

/* A message has come. */
void syn_wakeup_learn(struct syn_wakeup *wakeup);

#endif

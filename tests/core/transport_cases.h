/* Cases: what the workers of a group do in a test of transports, the same over threads, MPI and
 * a host's own message passing. Every worker calls the case with its membership, and each
 * returns "" if all went as promised, or else what did not, lent until its next case. */
#ifndef SYN_TEST_TRANSPORT_CASES_H
#define SYN_TEST_TRANSPORT_CASES_H

#include "transport/transport.h"

/* A case; actor is the worker that misbehaves, where one does. */
typedef const char *transport_case(struct syn_group *group, size_t actor);

/* Every pair exchanges messages of 0 to 1,000,003 bytes. */
transport_case case_every_pair;

/* Every worker starts 100 sends to and 100 receives from each other before it waits. */
transport_case case_many_under_way;

/* Messages to oneself and to nobody are refused, and the group stays whole. */
transport_case case_wrong_peer;

/* Actor sends more than its neighbour has room for: by a byte, by many times, where there is none,
 * and after a part that fits. Nothing is written beyond the room. */
transport_case case_too_large;
transport_case case_far_too_large;
transport_case case_no_room;
transport_case case_too_large_in_the_end;

/* Actor stays away from a ring of waits until all others have named it. */
transport_case case_silent;

/* Actor gives up with a cause. */
transport_case case_abandon;

/* Everybody waits for a message and nobody sends one. */
transport_case case_circle;

/* Each worker comes late, but none is waited for by somebody for as long as the time-out, though
 * the last of the chain waits longer than that. */
transport_case case_late_chain;

/* Worker 0 takes messages from all others as they come, several of each. */
transport_case case_whoever_comes;

/* As case_whoever_comes, with no end, but that actor (not 0) sends nothing: it is named though the
 * others keep worker 0 busy. */
transport_case case_silent_among_busy;

#endif

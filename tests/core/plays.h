/* Plays: what the workers of a group do in a test of transports, the same over threads, MPI and
 * a host's own message passing. Every worker calls the play with its membership, and each
 * returns "" if all went as promised, or else what did not, lent until its next play. */
#ifndef SYN_TEST_PLAYS_H
#define SYN_TEST_PLAYS_H

#include "transport/transport.h"

/* A play; actor is the worker that misbehaves, where one does. */
typedef const char *play(struct syn_group *group, size_t actor);

/* Every pair exchanges messages of 0 to 1,000,003 bytes. */
play play_every_pair;

/* Every worker starts 100 sends to and 100 receives from each other before it waits. */
play play_many_under_way;

/* Messages to oneself and to nobody are refused, and the group stays whole. */
play play_wrong_peer;

/* Actor sends more than its neighbour has room for: by a byte, by many times, where there is none,
 * and after a part that fits. Nothing is written beyond the room. */
play play_too_large;
play play_far_too_large;
play play_no_room;
play play_too_large_in_the_end;

/* Actor stays away from a ring of waits until all others have named it. */
play play_silent;

/* Actor gives up with a cause. */
play play_abandon;

/* Everybody waits for a message and nobody sends one. */
play play_circle;

/* Each worker comes late, but none is waited for by somebody for as long as the time-out, though
 * the last of the chain waits longer than that. */
play play_late_chain;

/* Worker 0 takes messages from all others as they come, several of each. */
play play_whoever_comes;

/* As play_whoever_comes, with no end, but that actor (not 0) sends nothing: it is named though the
 * others keep worker 0 busy. */
play play_silent_among_busy;

#endif

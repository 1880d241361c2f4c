/* Who communicates with whom, as pure arithmetic on (rank, P): an exchange is a number of rounds
 * for each member, and a round defines to whom it sends, from whom it receives, and how much of
 * what. Exchanges follow their rounds to move bytes; the simulator follows the same rounds to
 * advance its clock.
 *
 * A row of src/exchange names one of the functions below, or has its own. */
#ifndef SYN_TOPOLOGY_ROUNDS_H
#define SYN_TOPOLOGY_ROUNDS_H

#include <stdbool.h>
#include <stddef.h>

struct syn_members {
    size_t workers;   /* ranks 0 to workers - 1; at least 1 */
    size_t servers;   /* and the ranks after them */
    size_t fragments; /* of a contribution that is too long to be sent whole; otherwise 0 */
};

/* Members first, first + 1, ...; after the last worker or server it continues with the first. */
struct syn_peers {
    size_t first;
    size_t count;
};

struct syn_round {
    struct syn_peers send; /* in this order */
    struct syn_peers receive;
    size_t parts;       /* a message is one of this many parts of a whole; at least 1 */
    bool is_head;       /* only the head of a message is sent, which announces the rest */
    bool is_result;     /* of the result; otherwise of a contribution, or of sums of that size */
    size_t adds;        /* how many messages are added up when all have arrived; 0: none */
    bool is_lowest;     /* none of those added up is from a worker of lower rank than this one */
    bool is_passed_on;  /* the sum, or what was received, is forwarded in a later round */
    bool is_collecting; /* the result is distributed; skipped in steps that do not request it */
    bool sends_at_once; /* to all peers at the same time; otherwise one after the other */
};

/* Round number `number` of a member, counted from 0.
 *   round  zeroed
 * False after the last round. */
typedef bool syn_rounds(struct syn_members members, size_t member, size_t number,
                        struct syn_round *round);

/* Peer number i of a range of peers. */
static inline size_t syn_peer_at(struct syn_members members, struct syn_peers peers, size_t i)
{
    bool are_workers = peers.first < members.workers;
    size_t end = are_workers ? members.workers : members.workers + members.servers;
    size_t peer = peers.first + i;
    return peer < end ? peer : peer - (are_workers ? members.workers : members.servers);
}

/* The largest power of two that is not above count, which is at least 1. */
static inline size_t syn_power_within(size_t count)
{
    size_t power = 1;
    while (power <= count / 2)
        power *= 2;
    return power;
}

/* log2 of that many workers, rounded up: the rounds of pairwise merging. */
static inline size_t syn_log2_up(size_t workers)
{
    size_t rounds = 0;
    while ((size_t)1 << rounds < workers)
        rounds++;
    return rounds;
}

/* Part of a ring in round `number`: which of P parts a worker sends to its right-hand neighbour;
 * the next lower one comes from the left. There are 2(P - 1) rounds: P - 1 add up, and leave worker
 * r with the complete sum of part r + 1; as many more distribute the sums to everyone. */
static inline size_t syn_ring_part(size_t workers, size_t rank, size_t number)
{
    return (rank + 2 * workers - number) % workers;
}

/* Parts around a ring: a reduce-scatter, then an all-gather. */
syn_rounds syn_ring_rounds;

/* Everything to everyone in one round, starting with the right-hand neighbour, so that no one is
 * flooded. Contributions that are too long for that are only announced, and then forwarded around
 * the ring, one after the other in rank order. */
syn_rounds syn_everyone_rounds;

/* A contribution in members.fragments fragments is passed around the ring, from its owner to the
 * worker on the owner's left, each fragment being forwarded while the next one is received: a
 * member's round `number`, as in syn_rounds. */
bool syn_passing_round(struct syn_members members, size_t member, size_t owner, size_t number,
                       struct syn_round *round);

/* Everyone's parts to their owners, then every owner's sum to everyone. */
syn_rounds syn_owners_rounds;

/* Recursive doubling: in each round a worker exchanges with the one whose rank differs in one bit.
 * Workers beyond the largest power of two send to a partner first, and get the result from it at
 * the end. */
syn_rounds syn_doubling_rounds;

/* A binomial tree: up to worker 0, whose sum goes back down the same way. */
syn_rounds syn_tree_rounds;

/* Parameter servers: every worker sends a part to each server, which adds them up and sends the
 * result back. */
syn_rounds syn_servers_rounds;

#endif

/* Who talks to whom, as pure arithmetic on (rank, P): an exchange is a number of rounds for each
 * member, and a round says to whom it sends, from whom it receives, and how much of what. Exchanges
 * walk their rounds and move bytes; the simulator walks the same rounds and moves its clock.
 *
 * A row of src/exchange names one of the functions below, or has one of its own. */
#ifndef SYN_TOPOLOGY_ROUNDS_H
#define SYN_TOPOLOGY_ROUNDS_H

#include <stdbool.h>
#include <stddef.h>

struct syn_members {
    size_t workers; /* ranks 0 to workers - 1; at least 1 */
    size_t servers; /* and the ranks after them */
    size_t
        fragments; /* that contributions go in, if they are too long to be sent at once; else 0 */
};

/* Members first, first + 1, ...; after the last worker or server comes the first one again. */
struct syn_peers {
    size_t first;
    size_t count;
};

struct syn_round {
    struct syn_peers send; /* in this order */
    struct syn_peers receive;
    size_t parts;       /* a message is one of so many parts of a whole; at least 1 */
    bool is_head;       /* only the head of a message goes, which announces the rest */
    bool is_result;     /* of the result; otherwise of a contribution, or of sums as large as one */
    size_t adds;        /* messages' worth that are added up when all have come; 0: none */
    bool is_lowest;     /* those added up are of no worker of a lower rank than this one */
    bool is_passed_on;  /* the sum, or what came, is sent on by somebody in a later round */
    bool is_collecting; /* the result travels; left out in steps that do not ask for it */
    bool sends_at_once; /* to all peers at the same time; otherwise one after the other */
};

/* Round number `number` of a member, counted from 0.
 *   round  zeroed
 * False after the last round. */
typedef bool syn_rounds(struct syn_members members, size_t member, size_t number,
                        struct syn_round *round);

/* Peer number i of a run of them. */
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

/* Part of a ring in round `number`: which of P parts a worker passes to its right-hand neighbour;
 * the next lower one comes from the left. For 2(P - 1) rounds: P - 1 of them sum up, and leave
 * worker r with the whole sum of part r + 1; as many more hand the sums to everybody. */
static inline size_t syn_ring_part(size_t workers, size_t rank, size_t number)
{
    return (rank + 2 * workers - number) % workers;
}

/* Parts around a ring: a reduce-scatter, then an all-gather. */
syn_rounds syn_ring_rounds;

/* Everything to everybody in one round, beginning on the right, so that nobody is flooded. What is
 * too long for that is only announced, and then passed on, one contribution after the other in the
 * order of ranks. */
syn_rounds syn_everyone_rounds;

/* A contribution in that many fragments on its way around the ring, from its owner to the worker on
 * the owner's left, each fragment going on while the next one comes: a member's round `number`, as
 * of syn_rounds. */
bool syn_passing_round(struct syn_members members, size_t member, size_t owner, size_t number,
                       struct syn_round *round);

/* To each owner its part from everybody, then every owner's sum to everybody. */
syn_rounds syn_owners_rounds;

/* Recursive doubling: in each round a worker swaps with the one whose rank differs in one bit.
 * Workers beyond the largest power of two fold into a partner first, and have the result from it in
 * the end. */
syn_rounds syn_doubling_rounds;

/* A binomial tree: up to worker 0, whose sum goes down again the same way. */
syn_rounds syn_tree_rounds;

/* Parameter servers: from every worker a part to each server, which adds them up; and the result
 * back from each. */
syn_rounds syn_servers_rounds;

#endif

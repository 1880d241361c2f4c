/* The merging of gTop-k, apart from who talks to whom: a worker holds the list of its group so far,
 * adds another group's list to it and keeps the largest entries; what that drops is taken back by
 * the rule of the putback. */
#ifndef SYN_EXCHANGE_MERGE_H
#define SYN_EXCHANGE_MERGE_H

#include "exchange/exchange.h"

struct syn_merge {
    struct syn_exchange_setup setup;
    const struct syn_contribution *in; /* of the bucket under way */
    struct syn_outcome *out;
    struct syn_list current; /* the group's list */
    struct syn_list other;   /* what came */
    struct syn_list sum;
    struct syn_list dropped; /* by the merge under way */
    struct syn_list
        own[2];     /* putback owner: entries still in the lists, ours and a folded worker's */
    uint8_t *going; /* the group's list, encoded */
    size_t going_bytes;
    uint8_t *coming;
    size_t packet_room;
};

/* Bytes that the busiest worker sends: a list a round. */
double syn_merge_theory(const struct syn_exchange_setup *setup, size_t packet_bytes);

/* Most entries that can be taken back: two lists' worth a merge, by rounding and by dropping. */
size_t syn_merge_dropped_most(const struct syn_exchange_setup *setup);

enum syn_status syn_merge_open(const struct syn_exchange_setup *setup, struct syn_merge **merge);
void syn_merge_close(struct syn_merge *merge);

/* An exchange's vacate(), whose state is a merge. */
void syn_merge_vacate(void *state);

/* Begin with this worker's own contribution. */
void syn_merge_begin(struct syn_merge *merge, const struct syn_contribution *in,
                     struct syn_outcome *out);

/* Send the group's list, as it is encoded now. */
enum syn_status syn_merge_send(struct syn_merge *merge, size_t peer);

/* Receive a list and make it the group's: a result that somebody else has worked out. */
enum syn_status syn_merge_adopt(struct syn_merge *merge, size_t peer);

/* Swap lists with a peer and merge them, or only receive its list and merge it.
 *   is_lowest  this worker has the lowest rank of the group that results */
enum syn_status syn_merge_swap(struct syn_merge *merge, size_t peer, bool is_lowest);
enum syn_status syn_merge_absorb(struct syn_merge *merge, size_t peer, bool is_lowest);

/* As absorb, for a worker that will see nothing of what follows: its entries are watched for it. */
enum syn_status syn_merge_fold(struct syn_merge *merge, size_t peer);

/* Encode the group's list anew; rounding is taken back by the lowest rank of the group. */
void syn_merge_encode(struct syn_merge *merge, bool is_lowest);

/* Deliver the outcome. */
void syn_merge_finish(struct syn_merge *merge);

#endif

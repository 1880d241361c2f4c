/* The inside of the exchange "split": the portions of lists that go to their owners, and the sums
 * that come back from them. */
#ifndef SYN_EXCHANGE_SPLIT_H
#define SYN_EXCHANGE_SPLIT_H

#include "exchange/exchange.h"
#include "exchange/post.h"
#include "exchange/scatter.h"
#include "topology/owners.h"

struct syn_split {
    struct syn_exchange_setup setup;
    const struct syn_value_type *sum_values; /* the form that sums travel in */
    struct syn_post post;
    size_t portion_room;
    size_t kept_room;
    uint8_t *going;            /* [workers][portion_room] */
    uint8_t *coming;           /* [workers][portion_room] */
    uint8_t *kept_packet;      /* [kept_room] this owner's sums */
    uint8_t *collected;        /* [workers][kept_room] everybody's */
    struct syn_list *portions; /* [workers] of this worker's list, in the owners' numbers */
    struct syn_list *kept;     /* [workers] what each owner kept */
    struct syn_list came;      /* one portion */
    struct syn_list sum;       /* of all portions */
    struct syn_list before;    /* sums or portion before rounding */
    size_t *next;              /* [workers] of each owner's sums, the next to join */
    struct syn_scatter sums;   /* of this owner's entries */
};

/* What packets of portions, and of an owner's sums, are about. */
struct syn_packet_about syn_split_about_portions(const struct syn_split *split,
                                                 const struct syn_contribution *in);
struct syn_packet_about syn_split_about_kept(const struct syn_split *split,
                                             const struct syn_contribution *in, size_t owner);

/* How many sums an owner keeps of lists of at most `limit` entries. */
size_t syn_split_share(const struct syn_exchange_setup *setup, size_t limit, size_t owner);

/* Encode a list in an owner's numbers; what rounding takes from it goes to dropped, in the
 * bucket's. Returns its bytes. */
size_t syn_split_encode(struct syn_split *split, const struct syn_packet_about *about,
                        const struct syn_value_type *values, float scale, size_t owner,
                        struct syn_list *list, uint8_t *bytes, struct syn_list *dropped);

/* Read what a worker sent of an owner's entries, and see that the bucket has them all. */
enum syn_status syn_split_decode(const struct syn_split *split, const struct syn_contribution *in,
                                 const struct syn_packet_about *about, const uint8_t *bytes,
                                 size_t count, size_t owner, size_t sender, struct syn_list *list,
                                 struct syn_outcome *out);

/* Cut this worker's list into portions, send each owner its own, and add up those that came. */
enum syn_status syn_split_reduce(struct syn_split *split, const struct syn_contribution *in,
                                 struct syn_outcome *out);

/* Keep the largest sums, send them to all, and collect the others'; put them together, and take
 * back what of this worker's list is not among them. */
enum syn_status syn_split_collect(struct syn_split *split, const struct syn_contribution *in,
                                  struct syn_outcome *out);

#endif

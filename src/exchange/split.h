/* The internals of the exchange "split": the portions of lists that go to their owners, and the
 * sums that come back from them. */
#ifndef SYN_EXCHANGE_SPLIT_H
#define SYN_EXCHANGE_SPLIT_H

#include "exchange/exchange.h"
#include "exchange/post.h"
#include "exchange/scatter.h"
#include "topology/owners.h"

struct syn_split {
    struct syn_exchange_setup setup;
    const struct syn_value_type *sum_values; /* the form in which sums travel */
    struct syn_post post;
    size_t portion_room;
    size_t kept_room;
    uint8_t *going;            /* [workers][portion_room] */
    uint8_t *coming;           /* [workers][portion_room] */
    uint8_t *kept_packet;      /* [kept_room] this owner's sums */
    uint8_t *collected;        /* [workers][kept_room] all owners' sums */
    struct syn_list *portions; /* [workers] of this worker's list, in the owners' numbering */
    struct syn_list *kept;     /* [workers] what each owner kept */
    struct syn_list came;      /* one received portion */
    struct syn_list sum;       /* of all portions */
    struct syn_list before;    /* sums or portion before rounding */
    size_t *next;              /* [workers] the next of each owner's sums to join */
    struct syn_scatter sums;   /* of this owner's entries */
};

/* The contents of packets of portions, and of an owner's sums. */
struct syn_packet_about syn_split_about_portions(const struct syn_split *split,
                                                 const struct syn_contribution *in);
struct syn_packet_about syn_split_about_kept(const struct syn_split *split,
                                             const struct syn_contribution *in, size_t owner);

/* Number of sums that an owner keeps, for lists of at most `limit` entries. */
size_t syn_split_share(const struct syn_exchange_setup *setup, size_t limit, size_t owner);

/* Encode a list in an owner's numbering; what rounding removes from it is added to dropped, in the
 * bucket's numbering. Returns the number of bytes. */
size_t syn_split_encode(struct syn_split *split, const struct syn_packet_about *about,
                        const struct syn_value_type *values, float scale, size_t owner,
                        struct syn_list *list, uint8_t *bytes, struct syn_list *dropped);

/* Read what a worker sent of an owner's entries, and check that all of them are in the bucket. */
enum syn_status syn_split_decode(const struct syn_split *split, const struct syn_contribution *in,
                                 const struct syn_packet_about *about, const uint8_t *bytes,
                                 size_t count, size_t owner, size_t sender, struct syn_list *list,
                                 struct syn_outcome *out);

/* Split this worker's list into portions, send each owner its own, and add up those received. */
enum syn_status syn_split_reduce(struct syn_split *split, const struct syn_contribution *in,
                                 struct syn_outcome *out);

/* Keep the largest sums, send them to all workers, and collect the others'; join them, and take
 * back the entries of this worker's list that are not among them. */
enum syn_status syn_split_collect(struct syn_split *split, const struct syn_contribution *in,
                                  struct syn_outcome *out);

#endif

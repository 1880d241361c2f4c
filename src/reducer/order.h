/* The order in which a reducer holds entries. Tensors with their own policy are exchanged as
 * buckets of their own, and a bucket is one range of the residual. So tensors without a policy come
 * first, in the layout's order, then those that are sent whole, and those of each other density.
 * Gradients are read, and results delivered, in the layout's order: nobody outside sees this one.
 *
 * Marking single entries in one common list was the alternative: every merge would have to spare
 * them, and their indices would be sent in every step. */
#ifndef SYN_REDUCER_ORDER_H
#define SYN_REDUCER_ORDER_H

#include <stddef.h>

#include <syncopate/layout.h>
#include <syncopate/reducer.h>

/* Entries that follow one another in both orders. */
struct syn_order_run {
    size_t first; /* in the reducer's order */
    size_t place; /* in the layout's */
    size_t count;
};

struct syn_order {
    struct syn_order_run *runs; /* [count] ascending; NULL: both orders are the same */
    size_t count;
    size_t *begins; /* [tensor] its first entry in the reducer's order */
    size_t plain;   /* entries of tensors without a policy */
};

/* The share of tensor number i that every list contains: 1 for all of it, or its own density; 0 if
 * it has no policy.
 *   options  resolved */
double syn_order_share(const struct syn_layout *layout, size_t i,
                       const struct syn_reducer_options *options);

/* The tensor before which no other has the same share as tensor i. */
size_t syn_order_leader(const struct syn_layout *layout, size_t i,
                        const struct syn_reducer_options *options);

/* The number of entries in all tensors of this share. */
size_t syn_order_size(const struct syn_layout *layout, double share,
                      const struct syn_reducer_options *options);

/*   order  zero at first; close it after a failure too */
enum syn_status syn_order_open(const struct syn_layout *layout,
                               const struct syn_reducer_options *options, struct syn_order *order);
void syn_order_close(struct syn_order *order);

/* The run that entry `at` of the reducer's order is in; there must be runs. */
const struct syn_order_run *syn_order_find(const struct syn_order *order, size_t at);

/* The place in the layout of entry `at`. */
size_t syn_order_place(const struct syn_order *order, size_t at);

/* Copy from the reducer's order to the layout's, or back.
 *   size  of both; the arrays need no alignment */
void syn_order_restore(const struct syn_order *order, const float *from, void *to, size_t size);
void syn_order_arrange(const struct syn_order *order, const void *from, float *to, size_t size);

#endif

/* Adding up several sorted lists. Entries are added in windows of the index space that are small
 * enough to stay in cache: this needs no array as large as the space, and the work is proportional
 * to the number of entries. */
#ifndef SYN_EXCHANGE_SUM_H
#define SYN_EXCHANGE_SUM_H

#include "exchange/scatter.h"

#define SYN_SUM_WINDOW ((size_t)1 << 14)

struct syn_sum {
    size_t *next; /* [lists] the first entry of each that has not been added yet */
    struct syn_scatter window;
};

/* Allocate memory for adding up to that many lists. *sum must be zeroed before; close it even after
 * a failure. */
enum syn_status syn_sum_open(struct syn_sum *sum, size_t lists);
void syn_sum_close(struct syn_sum *sum);

/* merged = lists[0] + lists[1] + ...; each entry's values are added to zero in that order, and sums
 * of exactly zero are left out.
 *   merged  has room for the entries of all lists, and is none of them */
void syn_sum_lists(struct syn_sum *sum, const struct syn_list *lists, size_t count,
                   struct syn_list *merged);

/* The same, one list at a time, for lists that fill much of the space: begin, add each, collect.
 * Meanwhile the sums are dense, in merged->value.
 *   merged  has room for size entries, also below */
void syn_sum_dense_begin(struct syn_list *merged, size_t size);
void syn_sum_dense_add(struct syn_list *merged, const struct syn_list *list);
void syn_sum_dense_collect(struct syn_list *merged, size_t size);

#endif

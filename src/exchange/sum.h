/* Adding up several sorted lists. Entries are added in windows of the index space that stay in the
 * first caches: no array as large as the space, and the work is in proportion to the entries. */
#ifndef SYN_EXCHANGE_SUM_H
#define SYN_EXCHANGE_SUM_H

#include "exchange/scatter.h"

#define SYN_SUM_WINDOW ((size_t)1 << 14)

struct syn_sum {
    size_t *next; /* [lists] the first entry of each that was not added yet */
    struct syn_scatter window;
};

/* Take the memory for adding up to that many lists. All zero before; release it also after a
 * failure. */
enum syn_status syn_sum_open(struct syn_sum *sum, size_t lists);
void syn_sum_close(struct syn_sum *sum);

/* merged = lists[0] + lists[1] + ..., each entry's values added in that order to zero, sums of
 * exactly zero left out.
 *   merged  room for the entries of all lists, none of which it is */
void syn_sum_lists(struct syn_sum *sum, const struct syn_list *lists, size_t count,
                   struct syn_list *merged);

/* The same one list at a time, for lists that fill much of the space: begin, add each, collect.
 * The sums are dense in merged->value meanwhile.
 *   merged  room for size entries, likewise below */
void syn_sum_dense_begin(struct syn_list *merged, size_t size);
void syn_sum_dense_add(struct syn_list *merged, const struct syn_list *list);
void syn_sum_dense_collect(struct syn_list *merged, size_t size);

#endif

/* Sparse lists added up in a dense array that is zero between calls, with a map of the entries
 * touched: work in proportion to the entries, not to P times them as with repeated merges. */
#ifndef SYN_EXCHANGE_SCATTER_H
#define SYN_EXCHANGE_SCATTER_H

#include "tensor/list.h"

struct syn_scatter {
    size_t size;
    float *sums;       /* [size] zeros */
    uint64_t *touched; /* [size / 64 + 1] a bit for each entry */
};

/* Take the memory for entries 0 to size - 1. All zero before; release it also after a failure. */
enum syn_status syn_scatter_open(struct syn_scatter *scatter, size_t size);
void syn_scatter_close(struct syn_scatter *scatter);

/* Add a list's entries from number `next` on, as long as their index is below first + size; none is
 * below first. Returns the number of the first that is not. */
size_t syn_scatter_add(struct syn_scatter *scatter, const struct syn_list *list, size_t next,
                       size_t first);

/* Append the sums to a sorted list, in order and without those of exactly zero, with `first` added
 * to their indices; and leave zeros behind. */
void syn_scatter_collect(struct syn_scatter *scatter, size_t first, struct syn_list *list);

#endif

/* Sparse lists added up in a dense array that is zero between calls, with a bitmap of the entries
 * touched: the work is proportional to the number of entries, not to P times it as with repeated
 * merges. */
#ifndef SYN_EXCHANGE_SCATTER_H
#define SYN_EXCHANGE_SCATTER_H

#include "tensor/list.h"

struct syn_scatter {
    size_t size;
    float *sums;       /* [size] zeros */
    uint64_t *touched; /* [size / 64 + 1] one bit per entry */
};

/* Allocate memory for entries 0 to size - 1. *scatter must be zeroed before; close it even after a
 * failure. */
enum syn_status syn_scatter_open(struct syn_scatter *scatter, size_t size);
void syn_scatter_close(struct syn_scatter *scatter);

/* Add a list's entries from number `next` on, as long as their index is below first + size; none
 * may be below first. Returns the number of the first entry that was not added. */
size_t syn_scatter_add(struct syn_scatter *scatter, const struct syn_list *list, size_t next,
                       size_t first);

/* Append the sums to a sorted list, in order and without those of exactly zero, with `first` added
 * to their indices; and reset the array to zeros. */
void syn_scatter_collect(struct syn_scatter *scatter, size_t first, struct syn_list *list);

#endif

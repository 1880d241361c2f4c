/* A sparse vector: sorted indices with their values. */
#ifndef SYN_TENSOR_LIST_H
#define SYN_TENSOR_LIST_H

#include <stddef.h>
#include <stdint.h>

#include "base/status.h"

struct syn_list {
    uint32_t *index; /* [capacity], strictly ascending */
    float *value;    /* [capacity] */
    size_t count;
    size_t capacity;
};

/* Allocate an empty list with room for capacity entries. */
enum syn_status syn_list_open(struct syn_list *list, size_t capacity);

/* Release its memory and make it empty. */
void syn_list_close(struct syn_list *list);

/* Empty it and release its pages to the system until they are used again. */
void syn_list_vacate(struct syn_list *list);

/* to = from; to must have enough room. */
void syn_list_copy(struct syn_list *to, const struct syn_list *from);

/* Append one entry; there must be room for it. */
static inline void syn_list_append(struct syn_list *list, uint32_t index, float value)
{
    list->index[list->count] = index;
    list->value[list->count++] = value;
}

/* Append the entries of own whose index is not in the other list. */
void syn_list_append_absent(struct syn_list *list, const struct syn_list *own,
                            const struct syn_list *other);

/* Remove entries whose value is zero. */
void syn_list_drop_zeros(struct syn_list *list);

/* sum = a + b: the indices of both, values at equal indices added (a's value first), sums of
 * exactly zero omitted. sum must have room for a->count + b->count and must be neither of them. */
void syn_list_add(struct syn_list *sum, const struct syn_list *a, const struct syn_list *b);

/* Keep the `most` entries of largest magnitude, ties to the smaller index; the others go to
 * dropped, sorted.
 *   dropped  NULL, or room for list->count - most; its contents are replaced
 * Returns the smallest magnitude kept, as bits; 0 if nothing was dropped. */
uint32_t syn_list_keep_largest(struct syn_list *list, size_t most, struct syn_list *dropped);

/* The smallest magnitude in it, as bits; 0 if it is empty. */
uint32_t syn_list_smallest(const struct syn_list *list);

/* The position of the first entry whose index is not below `index`. */
size_t syn_list_find(const struct syn_list *list, size_t index);

#endif

/* The bitmap has one bit per entry, so that a search for the touched ones reads only 1/32 of the
 * size of the array. */
#include "exchange/scatter.h"

#include <stdlib.h>

#include "base/memory.h"

enum syn_status syn_scatter_open(struct syn_scatter *scatter, size_t size)
{
    scatter->size = size;
    SYN_TRY(syn_allocate(size, sizeof *scatter->sums, &scatter->sums));
    return syn_allocate(size / 64 + 1, sizeof *scatter->touched, &scatter->touched);
}

void syn_scatter_close(struct syn_scatter *scatter)
{
    free(scatter->sums);
    free(scatter->touched);
}

size_t syn_scatter_add(struct syn_scatter *scatter, const struct syn_list *list, size_t next,
                       size_t first)
{
    size_t i = next;
    for (; i < list->count && list->index[i] - first < scatter->size; i++) {
        size_t at = list->index[i] - first;
        scatter->sums[at] += list->value[i];
        scatter->touched[at / 64] |= (uint64_t)1 << (at % 64);
    }
    return i;
}

void syn_scatter_collect(struct syn_scatter *scatter, size_t first, struct syn_list *list)
{
    for (size_t word = 0; word <= scatter->size / 64; word++) {
        for (uint64_t bits = scatter->touched[word]; bits; bits &= bits - 1) {
            size_t at = 64 * word + (size_t)__builtin_ctzll(bits);
            if (scatter->sums[at] != 0)
                syn_list_append(list, (uint32_t)(first + at), scatter->sums[at]);
            scatter->sums[at] = 0;
        }
        scatter->touched[word] = 0;
    }
}

/* Knuth's selection sampling: one pass over all indices, each taken with the probability (entries
 * still needed) / (indices left). */
#include "inspect/sample.h"

void syn_sample_list(struct syn_random *random, size_t size, size_t count, struct syn_list *list)
{
    list->count = 0;
    for (size_t i = 0; list->count < count; i++) {
        if (syn_random_below(random, size - i) < count - list->count) {
            list->index[list->count] = (uint32_t)i;
            list->value[list->count++] = syn_random_normal(random);
        }
    }
}

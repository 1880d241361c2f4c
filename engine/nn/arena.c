/* Place large buffers first, each at the lowest offset where it overlaps no other buffer with an
 * overlapping lifetime. For networks this is within a few percent of the minimum: the large buffers
 * are activations that live from the forward pass to the backward pass, nested like brackets. */
#include "engine/nn/arena.h"

#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>

#include "engine/base/fail.h"
#include "engine/base/memory.h"
#include "engine/nn/plan.h"

#define ALIGNMENT 64

static int larger_first(const void *one, const void *other)
{
    const struct buffer *a = *(struct buffer *const *)one;
    const struct buffer *b = *(struct buffer *const *)other;
    if (a->bytes != b->bytes)
        return a->bytes > b->bytes ? -1 : 1;
    return a < b ? -1 : a > b;
}

static bool live_together(const struct buffer *a, const struct buffer *b)
{
    return a->first <= b->last && b->first <= a->last;
}

static size_t aligned(size_t bytes)
{
    return (bytes + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT;
}

/* Find the offset of a buffer among those already placed, which are sorted by offset. */
static void find_place(struct buffer *buffer, struct buffer *const *placed, size_t count)
{
    buffer->offset = 0;
    for (size_t i = 0; i < count; i++) {
        if (!live_together(buffer, placed[i]))
            continue;
        if (buffer->offset + buffer->bytes <= placed[i]->offset)
            return;
        size_t after = aligned(placed[i]->offset + placed[i]->bytes);
        if (after > buffer->offset)
            buffer->offset = after;
    }
}

static void insert_sorted(struct buffer *buffer, struct buffer **placed, size_t count)
{
    size_t at = count;
    for (; at > 0 && placed[at - 1]->offset > buffer->offset; at--)
        placed[at] = placed[at - 1];
    placed[at] = buffer;
}

enum syn_status arena_lay_out(struct buffer *buffers, size_t count, size_t *bytes)
{
    struct buffer **order;
    struct buffer **placed;
    SYN_TRY(syn_engine_allocate(2 * count, sizeof *order, &order));
    placed = order + count;
    size_t used = 0;
    for (size_t i = 0; i < count; i++)
        if (buffers[i].first != SIZE_MAX)
            order[used++] = &buffers[i];
    qsort(order, used, sizeof *order, larger_first);
    size_t total = 0;
    for (size_t i = 0; i < used; i++) {
        find_place(order[i], placed, i);
        insert_sorted(order[i], placed, i);
        size_t end = order[i]->offset + order[i]->bytes;
        total = end > total ? end : total;
    }
    free(order);
    *bytes = total;
    return SYN_OK;
}

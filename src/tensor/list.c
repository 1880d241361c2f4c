/* Sparse vectors: adding two of them, and keeping the largest entries. */
#include "tensor/list.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "tensor/kernels.h"
#include "tensor/largest.h"

enum syn_status syn_list_open(struct syn_list *list, size_t capacity)
{
    struct syn_list made = {.capacity = capacity};
    SYN_TRY(syn_reserve(capacity, sizeof *made.index, &made.index));
    enum syn_status status = syn_reserve(capacity, sizeof *made.value, &made.value);
    if (status != SYN_OK) {
        free(made.index);
        return status;
    }
    *list = made;
    return SYN_OK;
}

void syn_list_close(struct syn_list *list)
{
    free(list->index);
    free(list->value);
    *list = (struct syn_list){0};
}

void syn_list_vacate(struct syn_list *list)
{
    list->count = 0;
    syn_vacate(list->index, list->capacity, sizeof *list->index);
    syn_vacate(list->value, list->capacity, sizeof *list->value);
}

void syn_list_copy(struct syn_list *to, const struct syn_list *from)
{
    assert(from->count <= to->capacity);
    memcpy(to->index, from->index, from->count * sizeof *to->index);
    memcpy(to->value, from->value, from->count * sizeof *to->value);
    to->count = from->count;
}

void syn_list_append_absent(struct syn_list *list, const struct syn_list *own,
                            const struct syn_list *other)
{
    size_t j = 0;
    for (size_t i = 0; i < own->count; i++) {
        while (j < other->count && other->index[j] < own->index[i])
            j++;
        if (j == other->count || other->index[j] != own->index[i])
            syn_list_append(list, own->index[i], own->value[i]);
    }
}

void syn_list_drop_zeros(struct syn_list *list)
{
    size_t stay = 0;
    for (size_t i = 0; i < list->count; i++) {
        list->index[stay] = list->index[i];
        list->value[stay] = list->value[i];
        stay += list->value[i] != 0;
    }
    list->count = stay;
}

void syn_list_add(struct syn_list *sum, const struct syn_list *a, const struct syn_list *b)
{
    assert(a->count + b->count <= sum->capacity);
    size_t i = 0;
    size_t j = 0;
    size_t n = 0;
    while (i < a->count && j < b->count) {
        uint32_t left = a->index[i];
        uint32_t right = b->index[j];
        float value = 0;
        if (left <= right)
            value = a->value[i++];
        if (right <= left) {
            value = left == right ? value + b->value[j] : b->value[j];
            j++;
        }
        sum->index[n] = left < right ? left : right;
        sum->value[n] = value;
        n += value != 0;
    }
    const struct syn_list *rest = i < a->count ? a : b;
    size_t from = i < a->count ? i : j;
    memcpy(sum->index + n, rest->index + from, (rest->count - from) * sizeof *sum->index);
    memcpy(sum->value + n, rest->value + from, (rest->count - from) * sizeof *sum->value);
    sum->count = n + rest->count - from;
}

uint32_t syn_list_keep_largest(struct syn_list *list, size_t most, struct syn_list *dropped)
{
    if (dropped)
        dropped->count = 0;
    if (list->count <= most)
        return 0;
    struct syn_cut cut = {UINT32_MAX, 0};
    if (most > 0)
        cut = syn_largest(list->value, list->count, most);
    size_t kept = 0;
    size_t lost = 0;
    for (size_t i = 0; i < list->count; i++) {
        uint32_t magnitude = syn_magnitude(list->value[i]);
        bool stays = magnitude > cut.cutoff || (magnitude == cut.cutoff && cut.ties > 0);
        cut.ties -= magnitude == cut.cutoff && stays;
        if (stays) {
            list->index[kept] = list->index[i];
            list->value[kept++] = list->value[i];
        } else if (dropped) {
            dropped->index[lost] = list->index[i];
            dropped->value[lost++] = list->value[i];
        }
    }
    list->count = kept;
    if (dropped)
        dropped->count = lost;
    return cut.cutoff;
}

uint32_t syn_list_smallest(const struct syn_list *list)
{
    uint32_t smallest = UINT32_MAX;
    for (size_t i = 0; i < list->count; i++) {
        uint32_t magnitude = syn_magnitude(list->value[i]);
        smallest = magnitude < smallest ? magnitude : smallest;
    }
    return list->count ? smallest : 0;
}

size_t syn_list_find(const struct syn_list *list, size_t index)
{
    size_t low = 0;
    size_t high = list->count;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (list->index[middle] < index)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

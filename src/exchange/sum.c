/* Lists added up in windows, or where they are long in an array of the whole space. */
#include "exchange/sum.h"

#include <stdlib.h>
#include <string.h>

#include "base/memory.h"

enum syn_status syn_sum_open(struct syn_sum *sum, size_t lists)
{
    SYN_TRY(syn_allocate(lists, sizeof *sum->next, &sum->next));
    SYN_TRY(syn_allocate(SYN_SUM_WINDOW, sizeof *sum->window, &sum->window));
    return syn_allocate(SYN_SUM_WINDOW / 64, sizeof *sum->touched, &sum->touched);
}

void syn_sum_close(struct syn_sum *sum)
{
    free(sum->next);
    free(sum->window);
    free(sum->touched);
}

/* The window of the lowest entry that was not added yet; SIZE_MAX if there is none. */
static size_t next_window(const struct syn_sum *sum, const struct syn_list *lists, size_t count)
{
    size_t lowest = SIZE_MAX;
    for (size_t i = 0; i < count; i++)
        if (sum->next[i] < lists[i].count && lists[i].index[sum->next[i]] < lowest)
            lowest = lists[i].index[sum->next[i]];
    return lowest == SIZE_MAX ? SIZE_MAX : lowest / SYN_SUM_WINDOW;
}

static void add_in_window(struct syn_sum *sum, const struct syn_list *list, size_t *next,
                          size_t first)
{
    size_t i = *next;
    for (; i < list->count && list->index[i] - first < SYN_SUM_WINDOW; i++) {
        size_t at = list->index[i] - first;
        sum->window[at] += list->value[i];
        sum->touched[at / 64] |= (uint64_t)1 << (at % 64);
    }
    *next = i;
}

/* The window's touched entries, leaving zeros behind. */
static void collect(struct syn_sum *sum, size_t first, struct syn_list *merged)
{
    for (size_t word = 0; word < SYN_SUM_WINDOW / 64; word++) {
        for (uint64_t bits = sum->touched[word]; bits; bits &= bits - 1) {
            size_t at = 64 * word + (size_t)__builtin_ctzll(bits);
            if (sum->window[at] != 0) {
                merged->index[merged->count] = (uint32_t)(first + at);
                merged->value[merged->count++] = sum->window[at];
            }
            sum->window[at] = 0;
        }
        sum->touched[word] = 0;
    }
}

void syn_sum_lists(struct syn_sum *sum, const struct syn_list *lists, size_t count,
                   struct syn_list *merged)
{
    merged->count = 0;
    memset(sum->next, 0, count * sizeof *sum->next);
    for (;;) {
        size_t window = next_window(sum, lists, count);
        if (window == SIZE_MAX)
            return;
        for (size_t i = 0; i < count; i++)
            add_in_window(sum, &lists[i], &sum->next[i], window * SYN_SUM_WINDOW);
        collect(sum, window * SYN_SUM_WINDOW, merged);
    }
}

void syn_sum_dense_begin(struct syn_list *merged, size_t size)
{
    memset(merged->value, 0, size * sizeof *merged->value);
}

void syn_sum_dense_add(struct syn_list *merged, const struct syn_list *list)
{
    for (size_t i = 0; i < list->count; i++)
        merged->value[list->index[i]] += list->value[i];
}

void syn_sum_dense_collect(struct syn_list *merged, size_t size)
{
    size_t count = 0;
    for (size_t at = 0; at < size; at++) { /* at is never below count */
        float value = merged->value[at];
        merged->index[count] = (uint32_t)at;
        merged->value[count] = value;
        count += value != 0;
    }
    merged->count = count;
}

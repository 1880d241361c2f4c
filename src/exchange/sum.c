/* Lists are added up in windows; few entries, for which a window would be fetched into the caches
 * in vain, one by one; long lists in an array of the whole space. */
#include "exchange/sum.h"

#include <stdlib.h>
#include <string.h>

#include "base/memory.h"

/* Entries times lists that are added one by one. */
#define FEW ((size_t)1 << 14)

enum syn_status syn_sum_open(struct syn_sum *sum, size_t lists)
{
    SYN_TRY(syn_allocate(lists, sizeof *sum->next, &sum->next));
    return syn_scatter_open(&sum->window, SYN_SUM_WINDOW);
}

void syn_sum_close(struct syn_sum *sum)
{
    free(sum->next);
    syn_scatter_close(&sum->window);
}

/* The window of the lowest entry that has not been added yet; SIZE_MAX if there is none. */
static size_t next_window(const struct syn_sum *sum, const struct syn_list *lists, size_t count)
{
    size_t lowest = SIZE_MAX;
    for (size_t i = 0; i < count; i++)
        if (sum->next[i] < lists[i].count && lists[i].index[sum->next[i]] < lowest)
            lowest = lists[i].index[sum->next[i]];
    return lowest == SIZE_MAX ? SIZE_MAX : lowest / SYN_SUM_WINDOW;
}

static void add_in_windows(struct syn_sum *sum, const struct syn_list *lists, size_t count,
                           struct syn_list *merged)
{
    for (;;) {
        size_t window = next_window(sum, lists, count);
        if (window == SIZE_MAX)
            return;
        size_t first = window * SYN_SUM_WINDOW;
        for (size_t i = 0; i < count; i++)
            sum->next[i] = syn_scatter_add(&sum->window, &lists[i], sum->next[i], first);
        syn_scatter_collect(&sum->window, first, merged);
    }
}

/* The next entry of a list, or SIZE_MAX. */
static size_t next_of(const struct syn_sum *sum, const struct syn_list *lists, size_t i)
{
    return sum->next[i] < lists[i].count ? lists[i].index[sum->next[i]] : SIZE_MAX;
}

static void add_entry_by_entry(struct syn_sum *sum, const struct syn_list *lists, size_t count,
                               struct syn_list *merged)
{
    for (;;) {
        size_t lowest = SIZE_MAX;
        for (size_t i = 0; i < count; i++) {
            size_t next = next_of(sum, lists, i);
            lowest = next < lowest ? next : lowest;
        }
        if (lowest == SIZE_MAX)
            return;
        float total = 0;
        for (size_t i = 0; i < count; i++)
            if (next_of(sum, lists, i) == lowest)
                total += lists[i].value[sum->next[i]++];
        if (total != 0)
            syn_list_append(merged, (uint32_t)lowest, total);
    }
}

void syn_sum_lists(struct syn_sum *sum, const struct syn_list *lists, size_t count,
                   struct syn_list *merged)
{
    size_t entries = 0;
    for (size_t i = 0; i < count; i++)
        entries += lists[i].count;
    merged->count = 0;
    memset(sum->next, 0, count * sizeof *sum->next);
    if (entries * count <= FEW)
        add_entry_by_entry(sum, lists, count, merged);
    else
        add_in_windows(sum, lists, count, merged);
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

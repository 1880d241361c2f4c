/* The k entries of largest magnitude, exactly, in little more than one pass over memory.
 *
 * A lane collects entries above a cutoff. The cutoff begins a little below where the k-th largest
 * lay in the step before, because residuals change slowly; whenever the lane's list is full, it is
 * cut down to its k largest and the cutoff rises to the smallest of them. So a lane always holds
 * the k largest it has seen above its first cutoff, whatever the data. If in the end all lanes
 * together hold fewer than k, the guess was too high, and one more pass with a cutoff of zero puts
 * that right. Sorting or selecting among all n would take tens of passes.
 *
 * Entries come in ascending order, so that of equal magnitudes the smaller index is met first: an
 * entry that only equals the cutoff is rightly refused. Zeros are never picked. */
#include "select/select.h"

#include <stdlib.h>

#include "base/memory.h"
#include "tensor/kernels.h"

/* How far below the last cutoff the next guess lies, as a share of it. */
#define LEAST_MARGIN 0.005F
#define MOST_MARGIN  0.5F

struct lane {
    struct syn_list list;
    uint32_t cutoff;
};

struct topk {
    const struct syn_kernels *kernels;
    size_t size;
    size_t limit;
    size_t lane_count;
    float margin;
    uint32_t guess; /* the cutoff that lanes begin with */
    uint32_t least; /* the smallest magnitude picked last */
    struct lane lanes[];
};

static size_t limit(const struct syn_reducer_options *options, size_t size, double density)
{
    (void)options;
    return syn_select_share(density, size);
}

static void close_state(void *state)
{
    struct topk *topk = state;
    if (!topk)
        return;
    for (size_t i = 0; i < topk->lane_count; i++)
        syn_list_close(&topk->lanes[i].list);
    free(topk);
}

static enum syn_status open_state(const struct syn_reducer_options *options, size_t size,
                                  size_t most, size_t lanes, void **state)
{
    (void)options;
    struct topk *topk;
    SYN_TRY(syn_allocate(1, sizeof *topk + lanes * sizeof topk->lanes[0], &topk));
    topk->kernels = syn_kernels();
    topk->size = size;
    topk->lane_count = lanes;
    topk->margin = 0.1F;
    size_t room = most < size / 2 ? 2 * most : size;
    for (size_t i = 0; i < lanes; i++) {
        /* In the end the first lane's list takes all the others' in. */
        size_t capacity = (room + SYN_BLOCK) * (i == 0 ? lanes : 1);
        enum syn_status status = syn_list_open(&topk->lanes[i].list, capacity);
        if (status != SYN_OK) {
            close_state(topk);
            return status;
        }
    }
    *state = topk;
    return SYN_OK;
}

static void vacate(void *state)
{
    struct topk *topk = state;
    for (size_t i = 0; i < topk->lane_count; i++)
        syn_list_vacate(&topk->lanes[i].list);
}

static void restart(struct topk *topk, uint32_t cutoff)
{
    for (size_t i = 0; i < topk->lane_count; i++) {
        topk->lanes[i].list.count = 0;
        topk->lanes[i].cutoff = cutoff;
    }
}

static void begin(void *state, size_t most, double density)
{
    (void)density;
    struct topk *topk = state;
    topk->limit = most;
    restart(topk, topk->guess);
}

static struct syn_scan begin_scan(void *state, size_t lane_number)
{
    struct topk *topk = state;
    struct lane *lane = &topk->lanes[lane_number];
    struct syn_list *list = &lane->list;
    if (list->count > 2 * topk->limit || list->count + SYN_BLOCK > list->capacity) {
        uint32_t cutoff = syn_list_keep_largest(list, topk->limit, NULL);
        lane->cutoff = cutoff > lane->cutoff ? cutoff : lane->cutoff;
    }
    return (struct syn_scan){.cutoff = lane->cutoff,
                             .index = list->index + list->count,
                             .value = list->value + list->count};
}

static void collect(void *state, size_t lane_number, const struct syn_scan *scan)
{
    struct topk *topk = state;
    topk->lanes[lane_number].list.count += scan->found;
}

/* All over again with one lane and no guess. */
static void search_again(struct topk *topk, const struct syn_sums *sums)
{
    float room[SYN_BLOCK];
    restart(topk, 0);
    for (size_t at = 0; at < topk->size; at += SYN_BLOCK) {
        size_t left = topk->size - at;
        size_t count = left < SYN_BLOCK ? left : SYN_BLOCK;
        struct syn_scan scan = begin_scan(topk, 0);
        scan.first = (uint32_t)at;
        topk->kernels->scan(syn_sums_block(sums, at, count, room), count, &scan);
        collect(topk, 0, &scan);
    }
}

static size_t found_in_all(const struct topk *topk)
{
    size_t found = 0;
    for (size_t i = 0; i < topk->lane_count; i++)
        found += topk->lanes[i].list.count;
    return found;
}

/* All lanes' entries in the first lane's list, in ascending order. */
static struct syn_list *gather(struct topk *topk)
{
    struct syn_list *all = &topk->lanes[0].list;
    for (size_t i = 1; i < topk->lane_count; i++) {
        const struct syn_list *list = &topk->lanes[i].list;
        memcpy(all->index + all->count, list->index, list->count * sizeof *all->index);
        memcpy(all->value + all->count, list->value, list->count * sizeof *all->value);
        all->count += list->count;
    }
    return all;
}

static uint32_t smallest(const struct syn_list *list)
{
    uint32_t least = UINT32_MAX;
    for (size_t i = 0; i < list->count; i++) {
        uint32_t magnitude = syn_magnitude(list->value[i]);
        least = magnitude < least ? magnitude : least;
    }
    return list->count ? least : 0;
}

static void finish(void *state, const struct syn_sums *sums, struct syn_list *picked)
{
    struct topk *topk = state;
    size_t found = found_in_all(topk);
    if (found < topk->limit && topk->guess > 0) {
        topk->margin = topk->margin * 2 < MOST_MARGIN ? topk->margin * 2 : MOST_MARGIN;
        search_again(topk, sums);
    } else if (found > topk->limit + topk->limit / 2) {
        topk->margin = topk->margin * 0.9F > LEAST_MARGIN ? topk->margin * 0.9F : LEAST_MARGIN;
    }
    struct syn_list *all = gather(topk);
    syn_list_keep_largest(all, topk->limit, NULL);
    syn_list_copy(picked, all);
    topk->least = smallest(picked);
    bool is_full = picked->count == topk->limit;
    topk->guess = is_full ? syn_magnitude(syn_from_magnitude(topk->least) * (1 - topk->margin)) : 0;
}

static float threshold(const void *state)
{
    const struct topk *topk = state;
    return syn_from_magnitude(topk->least);
}

const struct syn_select_type syn_select_topk = {
    .part = {"topk", "exactly the k = density * n entries of largest magnitude"},
    .takes_share = true,
    .limit = limit,
    .open = open_state,
    .begin = begin,
    .begin_scan = begin_scan,
    .collect = collect,
    .finish = finish,
    .takes_sums_in_parts = true,
    .threshold = threshold,
    .vacate = vacate,
    .close = close_state,
};

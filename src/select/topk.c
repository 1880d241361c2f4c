/* The k entries of largest magnitude, exactly, in little more than one pass over memory.
 *
 * A lane collects entries above a cutoff. The cutoff starts a little below the k-th largest
 * magnitude of the previous step, because residuals change slowly; whenever the lane's list is
 * full, it is cut down to its k largest and the cutoff rises to the smallest of them. So a lane
 * always holds the k largest it has seen above its first cutoff, whatever the data. If at the end
 * all lanes together hold fewer than k, the guess was too high, and one more pass with a cutoff of
 * zero corrects that. Sorting or selecting among all n would take tens of passes.
 *
 * Entries come in ascending order, so that among equal magnitudes the smaller index is seen first:
 * an entry that only equals the cutoff is correctly rejected. Zeros are never picked. */
#include <stdlib.h>

#include "base/memory.h"
#include "select/lanes.h"

/* How far the next guess is below the last cutoff, as a share of it. */
#define LEAST_MARGIN 0.005F
#define MOST_MARGIN  0.5F

struct topk {
    size_t size;
    size_t limit;
    size_t lane_count;
    float margin;
    uint32_t guess; /* the cutoff that lanes begin with */
    uint32_t least; /* the smallest magnitude picked in the last pass */
    struct syn_lane lanes[];
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
    syn_lanes_close(topk->lanes, topk->lane_count);
    free(topk);
}

static enum syn_status open_state(const struct syn_reducer_options *options, size_t size,
                                  size_t most, size_t lanes, void **state)
{
    (void)options;
    struct topk *topk;
    SYN_TRY(syn_allocate(1, sizeof *topk + lanes * sizeof topk->lanes[0], &topk));
    topk->size = size;
    topk->lane_count = lanes;
    topk->margin = 0.1F;
    enum syn_status status =
        syn_lanes_open(topk->lanes, lanes, most < size / 2 ? 2 * most : size, true);
    if (status == SYN_OK)
        *state = topk;
    else
        close_state(topk);
    return status;
}

static void vacate(void *state)
{
    struct topk *topk = state;
    syn_lanes_vacate(topk->lanes, topk->lane_count);
}

static void begin(void *state, size_t most, double density, struct syn_scan *scans)
{
    (void)density;
    struct topk *topk = state;
    topk->limit = most;
    for (size_t i = 0; i < topk->lane_count; i++)
        scans[i] = syn_lane_begin(&topk->lanes[i], topk->guess);
}

static void collect(void *state, size_t lane, struct syn_scan *scan)
{
    struct topk *topk = state;
    syn_lane_collect_largest(&topk->lanes[lane], topk->limit, scan);
}

/* Search again with one lane and no guess. */
static void search_again(struct topk *topk, const struct syn_sums *sums)
{
    for (size_t i = 1; i < topk->lane_count; i++)
        topk->lanes[i].list.count = 0;
    syn_lane_search(&topk->lanes[0], sums, topk->size, topk->limit, 0);
}

static size_t found_in_all(const struct topk *topk)
{
    size_t found = 0;
    for (size_t i = 0; i < topk->lane_count; i++)
        found += topk->lanes[i].found;
    return found;
}

/* Gather all lanes' entries in the first lane's list, in ascending order. */
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
    topk->least = syn_list_smallest(picked);
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
    .collect = collect,
    .finish = finish,
    .takes_sums_in_parts = true,
    .threshold = threshold,
    .vacate = vacate,
    .close = close_state,
};

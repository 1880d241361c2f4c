/* The lists of lanes. */
#include "select/lanes.h"

enum syn_status syn_lanes_open(struct syn_lane *lanes, size_t count, size_t room, bool joins)
{
    for (size_t i = 0; i < count; i++) {
        size_t capacity = (room + SYN_BLOCK) * (i == 0 && joins ? count : 1);
        SYN_TRY(syn_list_open(&lanes[i].list, capacity));
    }
    return SYN_OK;
}

void syn_lanes_close(struct syn_lane *lanes, size_t count)
{
    for (size_t i = 0; i < count; i++)
        syn_list_close(&lanes[i].list);
}

void syn_lanes_vacate(struct syn_lane *lanes, size_t count)
{
    for (size_t i = 0; i < count; i++)
        syn_list_vacate(&lanes[i].list);
}

static void point(const struct syn_lane *lane, struct syn_scan *scan)
{
    scan->index = lane->list.index + lane->list.count;
    scan->value = lane->list.value + lane->list.count;
    scan->found = 0;
}

struct syn_scan syn_lane_begin(struct syn_lane *lane, uint32_t cutoff)
{
    struct syn_scan scan = {.cutoff = cutoff};
    lane->list.count = 0;
    lane->found = 0;
    point(lane, &scan);
    return scan;
}

void syn_lane_collect(struct syn_lane *lane, struct syn_scan *scan)
{
    lane->list.count += scan->found;
    lane->found = lane->list.count;
    point(lane, scan);
}

void syn_lane_collect_largest(struct syn_lane *lane, size_t limit, struct syn_scan *scan)
{
    struct syn_list *list = &lane->list;
    syn_lane_collect(lane, scan);
    if (list->count <= 2 * limit && list->count + SYN_BLOCK <= list->capacity)
        return;
    uint32_t cutoff = syn_list_keep_largest(list, limit, NULL);
    scan->cutoff = cutoff > scan->cutoff ? cutoff : scan->cutoff;
    point(lane, scan);
}

uint32_t syn_lane_search(struct syn_lane *lane, const struct syn_sums *sums, size_t size,
                         size_t limit, uint32_t cutoff)
{
    float room[SYN_BLOCK];
    struct syn_scan scan = syn_lane_begin(lane, cutoff);
    for (size_t at = 0; at < size; at += SYN_BLOCK) {
        size_t count = size - at < SYN_BLOCK ? size - at : SYN_BLOCK;
        scan.first = (uint32_t)at;
        syn_kernels()->scan(syn_sums_block(sums, at, count, room), count, &scan);
        syn_lane_collect_largest(lane, limit, &scan);
    }
    return scan.largest;
}

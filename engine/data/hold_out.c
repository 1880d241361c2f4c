/* A test part for data that come without one: a share of the examples, drawn once from a fixed
 * stream of random numbers, so that every worker, and every later run, holds out the same ones
 * whatever its seed. */
#include <math.h>
#include <stdlib.h>

#include <syncopate/random.h>

#include "engine/base/fail.h"
#include "engine/base/memory.h"
#include "engine/data/set.h"

#define STREAM 0x686f6c64U

/* Distribute the examples to the two parts, in order. Those of the training part move down over
 * those that leave it, so no entry is overwritten before it is read. */
static void deal(struct syn_data *data, size_t records, const bool *is_held)
{
    const struct syn_part_store *all = &data->parts[SYN_DATA_TRAIN];
    size_t *count = data->info.count;
    count[SYN_DATA_TRAIN] = count[SYN_DATA_TEST] = 0;
    for (size_t i = 0; i < records; i++) {
        enum syn_data_part part = is_held[i] ? SYN_DATA_TEST : SYN_DATA_TRAIN;
        struct syn_part_store *store = &data->parts[part];
        size_t at = count[part]++;
        store->places[at] = all->places[i];
        store->labels[at] = all->labels[i];
    }
}

/* Places of all examples, if they are in order. */
static enum syn_status make_places(struct syn_part_store *part, size_t records)
{
    if (part->places)
        return SYN_OK;
    SYN_TRY(syn_engine_allocate(records, sizeof *part->places, &part->places));
    for (size_t i = 0; i < records; i++)
        part->places[i] = (uint32_t)i;
    return SYN_OK;
}

static enum syn_status draw(size_t records, size_t held, bool *is_held)
{
    uint32_t *order;
    struct syn_random random;
    SYN_TRY(syn_engine_allocate(records, sizeof *order, &order));
    syn_random_start(&random, STREAM, 0);
    syn_random_order(&random, order, records);
    for (size_t i = 0; i < held; i++)
        is_held[order[i]] = true;
    free(order);
    return SYN_OK;
}

enum syn_status syn_data_hold_out(struct syn_data *data, double share)
{
    struct syn_part_store *train = &data->parts[SYN_DATA_TRAIN];
    struct syn_part_store *test = &data->parts[SYN_DATA_TEST];
    const size_t records = data->info.count[SYN_DATA_TRAIN];
    const size_t held = (size_t)floor(share * (double)records);
    bool *is_held;
    if (records > UINT32_MAX)
        return syn_report(SYN_UNSUPPORTED, "%s: %zu examples; at most 2^32 - 1 are possible",
                          data->info.name, records);
    if (held == 0 || held == records)
        return SYN_OK;
    SYN_TRY(syn_engine_allocate(records, sizeof *is_held, &is_held));
    enum syn_status status = draw(records, held, is_held);
    if (status == SYN_OK)
        status = make_places(train, records);
    if (status == SYN_OK)
        status = syn_engine_allocate(held, sizeof(uint32_t), &test->places);
    if (status == SYN_OK)
        status = syn_engine_allocate(held, sizeof(int32_t), &test->labels);
    if (status == SYN_OK) {
        for (size_t i = 0; i < train->span_count; i++)
            test->spans[i] = train->spans[i];
        test->span_count = train->span_count;
        deal(data, records, is_held);
    }
    free(is_held);
    return status;
}

/* A step of the hook without Python in between: the interpreter's lock is released once, and the
 * result is put in place by loops in C. */
#include <syncopate/syncopate.h>

#pragma GCC visibility push(default)
#include "bridge.h"
#pragma GCC visibility pop

struct syn_bridge_sizes syn_bridge_sizes(void)
{
    return (struct syn_bridge_sizes){
        .group_options = sizeof(struct syn_group_options),
        .reducer_options = sizeof(struct syn_reducer_options),
        .worker_options = sizeof(struct syn_worker_options),
        .worker_reducer = offsetof(struct syn_worker_options, reducer),
        .worker_optimizer = offsetof(struct syn_worker_options, optimizer),
        .merged = sizeof(struct syn_merged),
    };
}

static void spread_dense(const float *sum, float scale, const struct syn_bridge_place *place)
{
    for (size_t i = 0; i < place->count; i++)
        place->into[i] = scale * sum[place->first + i];
}

/* The number of the first entry, from number `from` on, that is beyond the place. */
static size_t end_in(const struct syn_merged *merged, size_t from,
                     const struct syn_bridge_place *place)
{
    while (from < merged->count && merged->index[from] - place->first < place->count)
        from++;
    return from;
}

static void spread_sparse(const struct syn_merged *merged, float scale,
                          const struct syn_bridge_place *places, size_t count)
{
    for (size_t i = 0, at = 0; i < count; i++)
        for (size_t end = end_in(merged, at, &places[i]); at < end; at++)
            places[i].into[merged->index[at] - places[i].first] = scale * merged->value[at];
}

void syn_bridge_spread(const struct syn_merged *merged, float scale,
                       const struct syn_bridge_place *places, size_t count)
{
    if (!merged->dense)
        spread_sparse(merged, scale, places, count);
    for (size_t i = 0; i < count && merged->dense; i++)
        spread_dense(merged->dense, scale, &places[i]);
}

void syn_bridge_clear(struct syn_merged *merged, const struct syn_bridge_place *places,
                      size_t count)
{
    for (size_t i = 0, at = 0; i < count && !merged->dense; i++)
        for (size_t end = end_in(merged, at, &places[i]); at < end; at++)
            places[i].into[merged->index[at] - places[i].first] = 0;
    merged->count = 0;
}

enum syn_status syn_bridge_step(struct syn_reducer *reducer, const struct syn_piece *pieces,
                                size_t piece_count, const struct syn_step *step, float scale,
                                const struct syn_bridge_place *places, size_t place_count,
                                struct syn_merged *merged)
{
    struct syn_ticket ticket;
    enum syn_status status = syn_reducer_begin_pieces(reducer, pieces, piece_count, step, &ticket);
    if (status == SYN_OK)
        status = syn_reducer_wait(reducer, ticket, merged);
    if (status == SYN_OK)
        syn_bridge_spread(merged, scale, places, place_count);
    return status;
}

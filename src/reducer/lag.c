/* Brings a lagging residual up to date, one block or all of it. */
#include "reducer/lag.h"

#include <stdlib.h>

#include "reducer/inside.h"

void syn_lag_settle(const struct syn_residual_type *type, const struct syn_residual *residual,
                    const struct syn_list *sent, size_t first, size_t count)
{
    struct syn_residual part = syn_residual_from(residual, first);
    syn_kernels()->add(part.unsent, part.unsent, part.velocity, count);
    size_t begin = syn_list_find(sent, first);
    size_t end = syn_list_find(sent, first + count);
    struct syn_list here = {sent->index + begin, sent->value + begin, end - begin, end - begin};
    type->keep(residual, &here);
}

void syn_reducer_let_lag(struct syn_reducer *reducer)
{
    const struct syn_exchange_type *exchange = reducer->exchange_type;
    struct syn_exchange_setup setup = {.group = reducer->group,
                                       .size = reducer->size,
                                       .limit = reducer->size,
                                       .keep = reducer->options.keep};
    bool can_lag = reducer->options.depth == 1 && reducer->residual_type->has_velocity &&
                   reducer->select_type->takes_sums_in_parts && exchange->dropped_most &&
                   exchange->dropped_most(&setup) == 0;
    if (!can_lag)
        return;
    free(reducer->residuals[1].unsent);
    reducer->residuals[1].unsent = reducer->residuals[0].unsent;
    reducer->may_lag = true;
}

void syn_reducer_settle(struct syn_reducer *reducer)
{
    const struct slot *slot = &reducer->slots[0];
    bool is_idle = reducer->begun == reducer->waited;
    for (size_t i = 0; i < reducer->bucket_count && reducer->may_lag && is_idle; i++) {
        struct bucket *bucket = &reducer->buckets[i];
        struct syn_residual residual =
            syn_residual_from(&reducer->residuals[reducer->newest], bucket->first);
        if (bucket->lags)
            syn_lag_settle(reducer->residual_type, &residual, &slot->transfers[i].in.list, 0,
                           bucket->size);
        bucket->lags = false;
    }
}

/* What an optimizer remembers, as floats that can be saved and restored. */
#include <math.h>
#include <string.h>

#include "base/status.h"
#include "optim/inside.h"

uint64_t syn_optimizer_count(const struct syn_optimizer *optimizer)
{
    return optimizer->updates;
}

enum syn_status syn_optimizer_recount(struct syn_optimizer *optimizer, float count)
{
    if (!(count >= 0 && count <= (float)SYN_OPTIM_MOST_COUNTED && count == floorf(count)))
        return syn_fail(SYN_FORMAT, "optimizer state of %g updates; expected a number up to %u",
                        (double)count, SYN_OPTIM_MOST_COUNTED);
    optimizer->updates = (uint64_t)count;
    return SYN_OK;
}

static size_t memory_size(const struct syn_optimizer *optimizer)
{
    return optimizer->memory_per_weight * optimizer->size;
}

size_t syn_optimizer_state_size(const struct syn_optimizer *optimizer)
{
    return memory_size(optimizer) + (optimizer->kind->counts ? 1 : 0);
}

void syn_optimizer_restart(struct syn_optimizer *optimizer)
{
    optimizer->updates = 0;
    if (optimizer->memory)
        memset(optimizer->memory, 0, memory_size(optimizer) * sizeof *optimizer->memory);
}

void syn_optimizer_save(const struct syn_optimizer *optimizer, float *state)
{
    size_t count = memory_size(optimizer);
    if (count > 0)
        memcpy(state, optimizer->memory, count * sizeof *state);
    if (optimizer->kind->counts)
        state[count] = (float)optimizer->updates;
}

enum syn_status syn_optimizer_load(struct syn_optimizer *optimizer, const float *state,
                                   size_t count)
{
    size_t floats = memory_size(optimizer);
    if (count != syn_optimizer_state_size(optimizer))
        return syn_fail(SYN_INVALID, "optimizer state of %zu floats; expected %zu", count,
                        syn_optimizer_state_size(optimizer));
    for (size_t i = 0; i < count; i++)
        if (!isfinite(state[i]))
            return syn_fail(SYN_NONFINITE, "optimizer state entry %zu is %g", i, (double)state[i]);
    if (optimizer->kind->counts)
        SYN_TRY(syn_optimizer_recount(optimizer, state[floats]));
    if (floats > 0)
        memcpy(optimizer->memory, state, floats * sizeof *state);
    return SYN_OK;
}

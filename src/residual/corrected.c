/* Momentum correction:
 *
 *     u = mu*u + s*g
 *     v = v + u         and the sent part leaves v
 *
 * Momentum is applied before selection, so that an entry that waits gathers it as it would have
 * without waiting; the global optimizer must then have none.
 *
 * All of it is linear: whatever is sent when, sent plus unsent is what momentum SGD would have
 * moved the weights by. At density 1 it is momentum SGD, and every entry that goes sooner brings
 * the weights closer to it. Entries that come back bring nothing with them that was lost, for u
 * never left. */
#include "residual/residual.h"

static void add(const struct syn_kernels *kernels, const struct syn_residual *before,
                const struct syn_residual *after, const float *gradient, float momentum,
                float scale, size_t count, bool past_caches, struct syn_scan *scan)
{
    kernels->accumulate_velocity(after->unsent, after->velocity, before->unsent, before->velocity,
                                 gradient, momentum, scale, count, past_caches, scan);
}

static void keep(const struct syn_residual *residual, const struct syn_list *sent)
{
    for (size_t i = 0; i < sent->count; i++)
        residual->unsent[sent->index[i]] -= sent->value[i];
}

const struct syn_residual_type syn_residual_corrected = {
    .part = {"corrected", "keep what was not sent, with momentum applied before selection"},
    .has_unsent = true,
    .has_velocity = true,
    .add = add,
    .keep = keep,
};

/* Momentum correction:  u = mu*u + s*g;  v = v + u;  the sent part leaves v, and u is zero where it
 * was sent. Momentum is applied before selection, so that an entry that waits gathers it as it
 * would have without waiting; the global optimizer must then have none. Zeroing u stops stale
 * momentum from pushing an entry on in the direction it has just been moved. */
#include "residual/residual.h"

static void add(const struct syn_kernels *kernels, const struct syn_residual *before,
                const struct syn_residual *after, const float *gradient, float momentum,
                float scale, size_t count, bool past_caches, struct syn_net *net)
{
    kernels->accumulate_velocity(after->unsent, after->velocity, before->unsent, before->velocity,
                                 gradient, momentum, scale, count, past_caches, net);
}

static void keep(const struct syn_residual *residual, const struct syn_list *sent)
{
    for (size_t i = 0; i < sent->count; i++) {
        residual->unsent[sent->index[i]] -= sent->value[i];
        residual->velocity[sent->index[i]] = 0;
    }
}

const struct syn_residual_type syn_residual_corrected = {
    .part = {"corrected", "keep what was not sent, with momentum applied before selection"},
    .has_unsent = true,
    .has_velocity = true,
    .add = add,
    .keep = keep,
};

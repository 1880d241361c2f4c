/* Momentum correction with factor masking, as published in Deep Gradient Compression:
 *
 *     u = mu*u + s*g
 *     v = v + u         and the sent part leaves v; u is zero where it was sent
 *
 * Zeroing u stops old momentum from pushing an entry further in the direction it has just been
 * moved. It also removes momentum from whatever is sent often, so that a higher density trains
 * worse (docs/results.md); hence it is kept for study, and `corrected` is the default. */
#include "residual/residual.h"

static void keep(const struct syn_residual *residual, const struct syn_list *sent)
{
    syn_residual_leave(residual, sent);
    for (size_t i = 0; i < sent->count; i++)
        residual->velocity[sent->index[i]] = 0;
}

const struct syn_residual_type syn_residual_masked = {
    .part = {"masked", "as corrected, but what is sent loses its momentum, as in DGC"},
    .has_unsent = true,
    .has_velocity = true,
    .forgets_sent = true,
    .add = syn_residual_add_velocity,
    .keep = keep,
};

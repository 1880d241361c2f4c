/* Momentum correction:
 *
 *     u = mu*u + s*g
 *     v = v + u         and the sent part leaves v
 *
 * Momentum is applied before selection, so that an entry accumulates it while it waits, as it would
 * have without waiting; the global optimizer must then have no momentum.
 *
 * All of this is linear: whatever is sent when, sent plus unsent is the distance that momentum SGD
 * would have moved the weights. At density 1 it is momentum SGD, and every entry that is sent
 * sooner brings the weights closer to it. Entries that come back lose nothing, because u was never
 * reduced. */
#include "residual/residual.h"

const struct syn_residual_type syn_residual_corrected = {
    .part = {"corrected", "keep what was not sent, with momentum applied before selection"},
    .has_unsent = true,
    .has_velocity = true,
    .add = syn_residual_add_velocity,
    .keep = syn_residual_leave,
};

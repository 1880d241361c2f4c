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

const struct syn_residual_type syn_residual_corrected = {
    .part = {"corrected", "keep what was not sent, with momentum applied before selection"},
    .has_unsent = true,
    .has_velocity = true,
    .add = syn_residual_add_velocity,
    .keep = syn_residual_leave,
};

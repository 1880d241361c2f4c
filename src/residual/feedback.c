/* Error feedback:
 *
 *     a = r + s*g       the sent part leaves a; the rest is the next r */
#include "residual/residual.h"

static void add(const struct syn_kernels *kernels, const struct syn_residual *before,
                const struct syn_residual *after, const float *gradient, float momentum,
                float scale, size_t count, bool past_caches, struct syn_scan *scan)
{
    (void)momentum;
    kernels->accumulate(after->unsent, before->unsent, gradient, scale, count, past_caches, scan);
}

const struct syn_residual_type syn_residual_feedback = {
    .part = {"feedback", "keep what was not sent and add it to the next gradient"},
    .has_unsent = true,
    .add = add,
    .keep = syn_residual_leave,
};

/* Delay compensation: g is corrected to first order for how far v has moved from the snapshot p,
 * with the diagonal of g*g as an approximation of the Hessian.
 *
 *     v -= lr * (g + wd*v + lambda * g*g*(v - p)) */
#include "optim/local.h"

static void update(const struct syn_local_rates *rates, float *v, const float *g, float *memory,
                   size_t count)
{
    (void)memory;
    float lr = rates->lr;
    float wd = rates->weight_decay;
    float lambda = rates->lambda;
    const float *p = rates->snapshot;
    for (size_t i = 0; i < count; i++)
        v[i] -= lr * ((g[i] + wd * v[i]) + lambda * g[i] * g[i] * (v[i] - p[i]));
}

const struct syn_local_type syn_local_dcasgd = {
    .part = {"dcasgd", "the worker's own gradient, compensated for the delay"},
    .snapshots = 1,
    .usual_lr = 0.5F,
    .usual_lambda = 0.04F,
    .update = update,
};

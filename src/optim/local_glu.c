/* Global gradient for local update: half of the step follows the worker's own gradient g, half the
 * mean gradient G of all workers, as derived from the last two snapshots of the global weights.
 *
 *     v -= lr * (alpha*g + beta*G + wd*v)
 *
 * Until there are two snapshots, G is taken as zero. */
#include "optim/local.h"

static void update(const struct syn_local_rates *rates, float *v, const float *g, float *memory,
                   size_t count)
{
    (void)memory;
    float lr = rates->lr;
    float wd = rates->weight_decay;
    float alpha = rates->alpha;
    float beta = rates->beta;
    const float *mean = rates->global_mean;
    if (!mean) {
        for (size_t i = 0; i < count; i++)
            v[i] -= lr * (alpha * g[i] + wd * v[i]);
        return;
    }
    for (size_t i = 0; i < count; i++)
        v[i] -= lr * ((alpha * g[i] + beta * mean[i]) + wd * v[i]);
}

const struct syn_local_type syn_local_glu = {
    .part = {"glu", "the worker's own gradient and the global one, derived from the weights"},
    .snapshots = 2,
    .usual_lr = 1,
    .usual_alpha = 0.5F,
    .update = update,
};

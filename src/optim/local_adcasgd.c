/* Delay compensation with a weight that adapts to the size of the gradient:
 *
 *     S = m*S + (1-m)*g*g + 1e-7
 *     v -= lr * (g + wd*v + lambda/sqrt(S) * g*g*(v - p)) */
#include <math.h>

#include "optim/local.h"

static void update(const struct syn_local_rates *rates, float *v, const float *g, float *memory,
                   size_t count)
{
    float lr = rates->lr;
    float wd = rates->weight_decay;
    float m = rates->mean_square;
    const float *p = rates->snapshot;
    for (size_t i = 0; i < count; i++) {
        memory[i] = m * memory[i] + (1 - m) * g[i] * g[i] + 1e-7F;
        float lambda = rates->lambda / sqrtf(memory[i]);
        v[i] -= lr * ((g[i] + wd * v[i]) + lambda * g[i] * g[i] * (v[i] - p[i]));
    }
}

const struct syn_local_type syn_local_adcasgd = {
    .part = {"adcasgd", "the worker's own gradient, with adaptive compensation"},
    .memory = 1,
    .snapshots = 1,
    .usual_lr = 0.5F,
    .usual_lambda = 2,
    .update = update,
};

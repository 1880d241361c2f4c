/* The worker's own gradient, with momentum:
 *
 *     m = mu*m + g + wd*v
 *     v -= lr * m */
#include "optim/local.h"

static void update(const struct syn_local_rates *rates, float *v, const float *g, float *memory,
                   size_t count)
{
    float lr = rates->lr;
    float wd = rates->weight_decay;
    float mu = rates->momentum;
    for (size_t i = 0; i < count; i++) {
        memory[i] = mu * memory[i] + (g[i] + wd * v[i]);
        v[i] -= lr * memory[i];
    }
}

const struct syn_local_type syn_local_momentum = {
    .part = {"momentum", "the worker's own gradient, with momentum"},
    .memory = 1,
    .usual_lr = 0.5F,
    .update = update,
};

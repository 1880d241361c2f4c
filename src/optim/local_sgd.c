/* The worker's own gradient:  v -= lr * (g + wd*v) */
#include "optim/local.h"

static void update(const struct syn_local_rates *rates, float *v, const float *g, float *memory,
                   size_t count)
{
    (void)memory;
    float lr = rates->lr;
    float wd = rates->weight_decay;
    for (size_t i = 0; i < count; i++)
        v[i] -= lr * (g[i] + wd * v[i]);
}

const struct syn_local_type syn_local_sgd = {
    .part = {"sgd", "the worker's own gradient"},
    .usual_lr = 0.5F,
    .update = update,
};

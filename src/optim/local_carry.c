/* The worker predicts what the global optimizer does: it applies the same momentum to its own
 * gradient instead of the mean over all workers, and every pull shows the error.
 *
 *     m = mu*m + (1 - mu) * (alpha*g + wd*v)
 *     v -= lr * m
 *
 * where lr is lr / (1 - mu) and alpha is 1 unless set otherwise. With little momentum a step is
 * nearly all own gradient, whose noise the mean of all workers has not: then less than 1 predicts
 * better.
 *
 * Two weights pulled n steps apart give only their distance, not how m changed in between. If the
 * others' gradients differed from this worker's by a constant c, then v missed the global weights W
 * by (1 - mu) * c * sum over j = 1..n of lr_j * (1 + mu + ... + mu^(j-1)), lr_j being the rate of
 * step j, and m by (1 - mu) * c * (1 + ... + mu^(n-1)). So m is corrected by
 *
 *     m += (v - W) * (1 + ... + mu^(n-1)) / (sum over j)
 *
 * After one step this is exact. It is needed in directions in which weights oscillate: the mean
 * velocity over n steps, which glu follows, is that of n/2 steps ago. */
#include "optim/local.h"

static void update(const struct syn_local_rates *rates, float *v, const float *g, float *memory,
                   size_t count)
{
    float lr = rates->lr;
    float wd = rates->weight_decay;
    float alpha = rates->alpha;
    float mu = rates->global_momentum;
    for (size_t i = 0; i < count; i++) {
        memory[i] = mu * memory[i] + (1 - mu) * (alpha * g[i] + wd * v[i]);
        v[i] -= lr * memory[i];
    }
}

static void correct(const struct syn_local_path *path, const float *v, const float *weights,
                    float *memory, size_t count)
{
    float share = (float)(path->reached / path->covered);
    for (size_t i = 0; i < count; i++)
        memory[i] += share * (v[i] - weights[i]);
}

const struct syn_local_type syn_local_carry = {
    .part = {"carry", "the global momentum, continued with the worker's own gradients and "
                      "corrected at each pull"},
    .memory = 1,
    .usual_lr = 1,
    .usual_alpha = 1,
    .follows_optimizer = true,
    .update = update,
    .correct = correct,
};

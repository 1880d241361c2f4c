/* Adam with weight decay decoupled from the gradient:
 *
 *     W -= lr * wd * W
 *     m  = beta1 * m + (1 - beta1) * g
 *     v  = beta2 * v + (1 - beta2) * g*g
 *     W -= lr/(1 - beta1^t) * m / (sqrt(v)/sqrt(1 - beta2^t) + eps)
 *
 * in PyTorch's order of rounding. m and v of a weight whose gradient is zero keep shrinking, so a
 * sparse gradient is treated as one full of zeros: nothing can be skipped. */
#include <float.h>
#include <math.h>

#include "base/status.h"
#include "optim/optim.h"

static enum syn_status check(const struct syn_optimizer_options *options)
{
    if (options->nesterov)
        return syn_fail(SYN_INVALID, "nesterov is for optimizer sgd, not adamw");
    return SYN_OK;
}

static size_t memory_per_weight(const struct syn_optimizer_options *options)
{
    (void)options;
    return 2;
}

static bool skips_zeros(const struct syn_optimizer_options *options)
{
    (void)options;
    return false;
}

static void apply(const struct syn_optimizer_options *options, struct syn_optim_rates rates,
                  const struct syn_optim_run *run)
{
    float b1 = (float)options->beta1;
    float b2 = (float)options->beta2;
    float new1 = (float)(1 - options->beta1);
    float new2 = (float)(1 - options->beta2);
    float eps = (float)options->eps;
    float keep = (float)(1 - (double)rates.lr * (double)rates.weight_decay);
    float size = (float)((double)rates.lr / syn_optim_bias(options->beta1, rates.update));
    float root = (float)sqrt(syn_optim_bias(options->beta2, rates.update));
    const float *restrict g = run->gradient;
    float *restrict w = run->weights;
    float *restrict m = run->memory[0];
    float *restrict v = run->memory[1];
    for (size_t i = 0; i < run->count; i++) {
        float mean = rates.scale * g[i];
        float square = b2 * v[i] + new2 * mean * mean;
        m[i] = b1 * m[i] + new1 * mean;
        v[i] = square < FLT_MAX ? square : FLT_MAX; /* for a gradient beyond 1e19 */
        w[i] = keep * w[i] - size * (m[i] / (sqrtf(v[i]) / root + eps));
    }
}

const struct syn_optim syn_optim_adamw = {
    .part = {"adamw", "Adam: steps divided by the root mean square; decoupled weight decay"},
    .counts = true,
    .adapts = true,
    .check = check,
    .memory_per_weight = memory_per_weight,
    .skips_zeros = skips_zeros,
    .apply = apply,
};

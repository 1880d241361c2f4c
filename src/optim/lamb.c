/* LAMB (You et al., 2020), for large batches: Adam's direction, with a length that is proportional
 * to that of the tensor's weights, so that no tensor moves too far in one step:
 *
 *     m  = beta1 * m + (1 - beta1) * g
 *     v  = beta2 * v + (1 - beta2) * g*g
 *     u  = m/(1 - beta1^t) / (sqrt(v)/sqrt(1 - beta2^t) + eps) + wd * W
 *     W -= lr * |W|/|u| * u
 *
 * with the norms of the whole tensor; the factor is 1 if one of them is 0. As in the paper it
 * applies to every tensor, also to those without decay.
 *
 * The norm of u must be known before the first weight moves. u is computed twice rather than
 * stored: that costs a square root per weight, an array would cost memory for each. */
#include <float.h>
#include <math.h>

#include "base/status.h"
#include "optim/optim.h"

/* Entries of u at a time: they stay in the first-level cache. */
#define BLOCK 512

/* The constants of one step. */
struct step {
    float b1, b2;     /* shares that are kept */
    float new1, new2; /* shares that are new */
    float scale;
    float size; /* 1/(1 - beta1^t) */
    float root; /* sqrt(1 - beta2^t) */
    float eps;
    float decay;
};

static enum syn_status check(const struct syn_optimizer_options *options)
{
    if (options->nesterov)
        return syn_fail(SYN_INVALID, "nesterov is for optimizer sgd, not lamb");
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

static struct step step_of(const struct syn_optimizer_options *options,
                           struct syn_optim_rates rates)
{
    return (struct step){
        .b1 = (float)options->beta1,
        .b2 = (float)options->beta2,
        .new1 = (float)(1 - options->beta1),
        .new2 = (float)(1 - options->beta2),
        .scale = rates.scale,
        .size = (float)(1 / syn_optim_bias(options->beta1, rates.update)),
        .root = (float)sqrt(syn_optim_bias(options->beta2, rates.update)),
        .eps = (float)options->eps,
        .decay = rates.weight_decay,
    };
}

static void remember(const struct step *step, const struct syn_optim_run *run)
{
    const float *restrict g = run->gradient;
    float *restrict m = run->memory[0];
    float *restrict v = run->memory[1];
    for (size_t i = 0; i < run->count; i++) {
        float mean = step->scale * g[i];
        float square = step->b2 * v[i] + step->new2 * mean * mean;
        m[i] = step->b1 * m[i] + step->new1 * mean;
        v[i] = square < FLT_MAX ? square : FLT_MAX; /* for a gradient beyond 1e19 */
    }
}

/* u of count entries, starting at entry first. */
static void direct(const struct step *step, const struct syn_optim_run *run, size_t first,
                   size_t count, float *restrict u)
{
    const float *restrict w = run->weights + first;
    const float *restrict m = run->memory[0] + first;
    const float *restrict v = run->memory[1] + first;
    for (size_t i = 0; i < count; i++)
        u[i] = step->size * m[i] / (sqrtf(v[i]) / step->root + step->eps) + step->decay * w[i];
}

static size_t next_block(const struct syn_optim_run *run, size_t first)
{
    return run->count - first < BLOCK ? run->count - first : BLOCK;
}

/* |W|/|u| */
static double trust(const struct step *step, const struct syn_optim_run *run)
{
    float u[BLOCK];
    double square = 0;
    for (size_t first = 0, count = 0; first < run->count; first += count) {
        count = next_block(run, first);
        direct(step, run, first, count, u);
        square += syn_norm_square(u, count);
    }
    double weights = syn_norm_square(run->weights, run->count);
    return weights > 0 && square > 0 ? sqrt(weights / square) : 1;
}

/* The product is a double, as |W|/|u| may be beyond the range of floats where u is tiny. */
static void apply(const struct syn_optimizer_options *options, struct syn_optim_rates rates,
                  const struct syn_optim_run *run)
{
    const struct step step = step_of(options, rates);
    float u[BLOCK];
    remember(&step, run);
    double lr = (double)rates.lr * trust(&step, run);
    for (size_t first = 0, count = 0; first < run->count; first += count) {
        count = next_block(run, first);
        direct(&step, run, first, count, u);
        for (size_t i = 0; i < count; i++)
            run->weights[first + i] -= (float)(lr * (double)u[i]);
    }
}

const struct syn_optim syn_optim_lamb = {
    .part = {"lamb", "Adam with steps as long as each tensor's weights, times the learning rate"},
    .counts = true,
    .adapts = true,
    .needs_whole_tensors = true,
    .check = check,
    .memory_per_weight = memory_per_weight,
    .skips_zeros = skips_zeros,
    .apply = apply,
};

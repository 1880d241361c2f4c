/* Stochastic gradient descent with momentum, Nesterov's look-ahead and weight decay:
 *
 *     g' = scale * g + wd * W
 *     m  = mu * m + g'
 *     W -= lr * m                  or, with Nesterov, W -= lr * (g' + mu * m)
 *
 * Plain loops, one for each amount of work, which compilers vectorize as written; the usual one is
 * a kernel, because a small model stays in the caches, where the width of vectors counts. Every
 * product is rounded before it is added (the build forbids contraction), hence the same bits at any
 * width. */
#include "base/status.h"
#include "optim/optim.h"
#include "tensor/kernels.h"

static enum syn_status check(const struct syn_optimizer_options *options)
{
    if (options->nesterov && options->momentum == 0)
        return syn_fail(SYN_INVALID, "nesterov needs a momentum above 0");
    return SYN_OK;
}

static size_t memory_per_weight(const struct syn_optimizer_options *options)
{
    return options->momentum > 0 ? 1 : 0;
}

static bool skips_zeros(const struct syn_optimizer_options *options)
{
    return options->momentum == 0 && options->weight_decay == 0;
}

static void descend(struct syn_optim_rates rates, const float *restrict g, float *restrict w,
                    size_t count)
{
    float wd = rates.weight_decay;
    for (size_t i = 0; i < count; i++)
        w[i] -= rates.lr * (rates.scale * g[i] + wd * w[i]);
}

static struct syn_descent descent_of(struct syn_optim_rates rates, float mu)
{
    return (struct syn_descent){rates.lr, mu, rates.scale, rates.weight_decay};
}

static void descend_looking_ahead(struct syn_optim_rates rates, float mu, const float *restrict g,
                                  float *restrict w, float *restrict m, size_t count)
{
    float wd = rates.weight_decay;
    for (size_t i = 0; i < count; i++) {
        float decayed = rates.scale * g[i] + wd * w[i];
        m[i] = mu * m[i] + decayed;
        w[i] -= rates.lr * (decayed + mu * m[i]);
    }
}

static void apply(const struct syn_optimizer_options *options, struct syn_optim_rates rates,
                  const struct syn_optim_run *run)
{
    float mu = (float)options->momentum;
    if (options->momentum == 0)
        descend(rates, run->gradient, run->weights, run->count);
    else if (options->nesterov)
        descend_looking_ahead(rates, mu, run->gradient, run->weights, run->memory[0], run->count);
    else
        syn_kernels()->descend(descent_of(rates, mu), run->gradient, run->weights, run->memory[0],
                               run->count);
}

/* The same formulas, with the same roundings. */
static void foresee(const struct syn_optimizer_options *options, struct syn_optim_rates rates,
                    const struct syn_optim_run *run, float *restrict result)
{
    const float *restrict g = run->gradient;
    const float *restrict w = run->weights;
    const float *restrict m = run->memory[0];
    float mu = (float)options->momentum;
    float wd = rates.weight_decay;
    if (options->momentum == 0) {
        for (size_t i = 0; i < run->count; i++)
            result[i] = w[i] - rates.lr * (rates.scale * g[i] + wd * w[i]);
    } else if (options->nesterov) {
        for (size_t i = 0; i < run->count; i++) {
            float decayed = rates.scale * g[i] + wd * w[i];
            result[i] = w[i] - rates.lr * (decayed + mu * (mu * m[i] + decayed));
        }
    } else {
        for (size_t i = 0; i < run->count; i++)
            result[i] = w[i] - rates.lr * (mu * m[i] + (rates.scale * g[i] + wd * w[i]));
    }
}

static void apply_and_foresee(const struct syn_optimizer_options *options,
                              struct syn_optim_rates rates, const struct syn_optim_run *run,
                              const struct syn_optim_next *next)
{
    float mu = (float)options->momentum;
    if (options->momentum > 0 && !options->nesterov) {
        syn_kernels()->descend_and_foresee(descent_of(rates, mu), run->gradient, run->weights,
                                           run->memory[0], descent_of(next->rates, mu),
                                           next->gradient, next->result, run->count);
        return;
    }
    struct syn_optim_run after = *run;
    after.gradient = next->gradient;
    apply(options, rates, run);
    foresee(options, next->rates, &after, next->result);
}

const struct syn_optim syn_optim_sgd = {
    .part = {"sgd", "stochastic gradient descent with momentum and weight decay"},
    .check = check,
    .memory_per_weight = memory_per_weight,
    .skips_zeros = skips_zeros,
    .apply = apply,
    .foresee = foresee,
    .apply_and_foresee = apply_and_foresee,
};

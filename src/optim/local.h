/* Local updates: how a worker moves on from its own gradient while the global weights are under
 * way. Formulas and defaults are those of docs/methods.md; v are the worker's weights, g its own
 * mean gradient. */
#ifndef SYN_OPTIM_LOCAL_H
#define SYN_OPTIM_LOCAL_H

#include <stddef.h>

#include "base/table.h"

/* What a local update is given beside v and g. */
struct syn_local_rates {
    float lr; /* the local one */
    float weight_decay;
    float momentum;
    float global_momentum; /* that of the global optimizer, wherever it is kept */
    float lambda;          /* 0: the method's own */
    float mean_square;
    float alpha;
    float beta;
    const float *snapshot; /* [count] p, the global weights pulled last */
    const float
        *global_mean; /* [count] the mean global gradient read back from them, or NULL if unknown */
};

struct syn_local_type {
    struct syn_part part;
    size_t memory;    /* floats remembered of each weight: 0 or 1 */
    size_t snapshots; /* how many of the last pulled weights it looks at: 0 to 2 */
    float usual_lr;   /* in units of lr / (1 - momentum) */
    float usual_lambda;

    /* Update count weights. memory is [count], or NULL. */
    void (*update)(const struct syn_local_rates *rates, float *v, const float *g, float *memory,
                   size_t count);

    /* The global weights have come that v is a guess of, n updates after those before them; n is
     * above 0. NULL: nothing to learn from it. */
    void (*correct)(const struct syn_local_rates *rates, const float *v, const float *weights,
                    unsigned long long n, float *memory, size_t count);
};

const struct syn_local_type *syn_local_row(size_t i);
const struct syn_local_type *syn_local_find(const char *name);
const char *syn_local_name(size_t i);

/* The mean global gradient over the n global steps between two snapshots, read back from how far
 * they moved:
 *
 *     ((1 - lr*wd)^n * before - after) / (n * lr / (1 - momentum)) */
struct syn_global_mean {
    double lr;
    double weight_decay;
    double momentum;
    unsigned long long n; /* above 0 */
};
void syn_global_mean(const struct syn_global_mean *how, const float *before, const float *after,
                     float *mean, size_t count);

#endif

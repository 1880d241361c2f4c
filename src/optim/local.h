/* Local updates: how a worker updates its weights from its own gradient while the global weights
 * are under way. Formulas and defaults are those of docs/methods.md; v are the worker's weights, g
 * its own mean gradient. */
#ifndef SYN_OPTIM_LOCAL_H
#define SYN_OPTIM_LOCAL_H

#include <stdbool.h>
#include <stddef.h>

#include "base/table.h"

/* The input of a local update besides v and g. */
struct syn_local_rates {
    float lr; /* the local one */
    float weight_decay;
    float momentum;
    float global_momentum; /* of the global optimizer, wherever that is kept */
    float lambda;          /* 0: the method's default */
    float mean_square;
    float alpha;
    float beta;
    const float *snapshot;    /* [count] p, the global weights pulled last */
    const float *global_mean; /* [count] mean global gradient derived from them; NULL: unknown */
};

/* Sums over the steps from one snapshot to the next, each at its own learning rate: after the rate
 * drops, the current one does not tell how far the weights moved before. With lr_j and l_j the
 * global and the local rate of step j, and s_j = 1 + mu + ... + mu^(j-1): */
struct syn_local_path {
    double length;  /* sum of lr_j */
    double decay;   /* product of 1 - lr_j * wd */
    double reached; /* s_n */
    double covered; /* sum of l_j * s_j */
};

static inline struct syn_local_path syn_local_path_start(void)
{
    return (struct syn_local_path){.decay = 1};
}

/* One more step. */
static inline void syn_local_path_add(struct syn_local_path *path, double lr, double lr_local,
                                      double weight_decay, double momentum)
{
    path->length += lr;
    path->decay *= 1 - lr * weight_decay;
    path->reached = 1 + momentum * path->reached;
    path->covered += lr_local * path->reached;
}

struct syn_local_type {
    struct syn_part part;
    size_t memory;          /* floats remembered per weight: 0 or 1 */
    size_t snapshots;       /* how many of the last pulled snapshots it uses: 0 to 2 */
    float usual_lr;         /* in units of lr / (1 - momentum) */
    bool follows_optimizer; /* after one step it has learned the global optimizer's momentum */
    float usual_lambda;
    float usual_alpha;

    /* Update count weights. memory is [count], or NULL. */
    void (*update)(const struct syn_local_rates *rates, float *v, const float *g, float *memory,
                   size_t count);

    /* Called when the global weights arrive that v estimates, at the end of a path of one step or
     * more. NULL: the update does not use them. */
    void (*correct)(const struct syn_local_path *path, const float *v, const float *weights,
                    float *memory, size_t count);
};

const struct syn_local_type *syn_local_row(size_t i);
const struct syn_local_type *syn_local_find(const char *name);
const char *syn_local_name(size_t i);

/* The mean global gradient over a path's steps, derived from how far the weights moved:
 *
 *     (decay * before - after) / (length / (1 - momentum)) */
void syn_global_mean(const struct syn_local_path *path, double momentum, const float *before,
                     const float *after, float *mean, size_t count);

#endif

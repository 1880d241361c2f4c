/* The interface of an optimizer in the table optimizers.def: one formula over a run of weights.
 * Where the gradient comes from, and whether it is dense or sparse, is handled by optimizer.c. */
#ifndef SYN_OPTIM_OPTIM_H
#define SYN_OPTIM_OPTIM_H

#include <stdbool.h>
#include <stddef.h>

#include <syncopate/optimizer.h>

#include "base/table.h"

/* The most floats that an optimizer remembers per weight. */
#define SYN_OPTIM_MOST_MEMORY 2

/* A run of weights and what belongs to them. */
struct syn_optim_run {
    const float *gradient;                /* [count], not yet scaled */
    float *weights;                       /* [count] */
    float *memory[SYN_OPTIM_MOST_MEMORY]; /* [count] each, memory_per_weight() of them */
    size_t count;
};

/* What the formula is given for one step. */
struct syn_optim_rates {
    float lr;
    float scale;
    float weight_decay;
    uint64_t update; /* the number of this step, starting at 1 */
};

/* A step that is only tried out after another one. */
struct syn_optim_next {
    struct syn_optim_rates rates;
    const float *gradient; /* [count] */
    float *result;         /* [count] the weights that it would lead to */
};

struct syn_optim {
    struct syn_part part;
    bool counts; /* the formula needs the number of the step */
    bool adapts; /* it has its own momentum, and its step size does not follow the gradient's */
    bool needs_whole_tensors; /* a weight's step depends on the rest of its tensor */

    /* (optional) Find settings that contradict each other. Ranges have been checked already. */
    enum syn_status (*check)(const struct syn_optimizer_options *options);

    /* How many floats are remembered per weight. */
    size_t (*memory_per_weight)(const struct syn_optimizer_options *options);

    /* Whether a weight whose gradient is zero does not change, so that a sparse step may skip it.
     * Only an optimizer without memory may return true. */
    bool (*skips_zeros)(const struct syn_optimizer_options *options);

    /* Update a run of weights: one whole tensor if the formula needs that. Otherwise each weight is
     * updated independently: how a step is cut into runs does not change a bit. */
    void (*apply)(const struct syn_optimizer_options *options, struct syn_optim_rates rates,
                  const struct syn_optim_run *run);

    /* (optional) Write the weights as apply() would leave them, to the bit, and change nothing. The
     * same conditions as for apply(). */
    void (*foresee)(const struct syn_optimizer_options *options, struct syn_optim_rates rates,
                    const struct syn_optim_run *run, float *restrict result);

    /* apply(), and then foresee() with another gradient, in one loop. With foresee() only. */
    void (*apply_and_foresee)(const struct syn_optimizer_options *options,
                              struct syn_optim_rates rates, const struct syn_optim_run *run,
                              const struct syn_optim_next *next);
};

/* As syn_optimizer_open_layout(), for a part of the layout's weights, for an optimizer that follows
 * a residual with this momentum. An optimizer's own momentum multiplies weight decay by 1/(1 - mu),
 * as it does the gradient; the residual's momentum is applied to gradients only, as decay must not
 * wait to be selected. The factor is therefore applied here, so that the same weight decay means
 * the same for all methods.
 *   first, count  the part
 *   is_rated      each tensor has its own rates; false: all the same */
enum syn_status syn_optimizer_open_part(double momentum,
                                        const struct syn_optimizer_options *options,
                                        const struct syn_layout *layout, size_t first, size_t count,
                                        bool is_rated, struct syn_optimizer **optimizer);

/* A sum of gradients: dense, or a list with indices in ascending order. */
struct syn_optimizer_sum {
    const float *dense; /* [size], or NULL */
    const uint32_t *indices;
    const float *values;
    size_t count; /* of the list */
};

/* A step that is only tried out: what it would make of the weights. These and the optimizer stay as
 * they are. */
struct syn_trial {
    const float *gradient; /* [size] */
    double lr;
    double scale;
    float *weights; /* [size] the result */
    bool is_finite; /* set: whether all of the result is */
};

/* Whether an optimizer with these options can try a step out. */
bool syn_optimizer_can_try(const struct syn_optimizer_options *options);

/*   weights  stay as they are */
enum syn_status syn_optimizer_try(const struct syn_optimizer *optimizer, float *weights,
                                  struct syn_trial *trial);

/* Apply a sum and then try another step out, in one pass over memory and weights.
 *   trial  or NULL */
enum syn_status syn_optimizer_apply_and_try(struct syn_optimizer *optimizer, double lr,
                                            double scale, const struct syn_optimizer_sum *sum,
                                            float *weights, struct syn_trial *trial);

/* Clear its memory, as after opening. */
void syn_optimizer_restart(struct syn_optimizer *optimizer);

/* Whether the optimizer of these options adapts. */
bool syn_optimizer_adapts(const struct syn_optimizer_options *options);

/* Whether it must not be opened for a part of a tensor. */
bool syn_optimizer_needs_whole_tensors(const struct syn_optimizer_options *options);

/* 1 - beta^t, which a mean that began at zero is divided by. */
double syn_optim_bias(double beta, uint64_t update);

/* Updates so far, at most SYN_OPTIM_MOST_COUNTED; 0 if they are not counted. Beyond that beta^t is
 * negligible against 1; up to it, a float holds each count exactly. */
#define SYN_OPTIM_MOST_COUNTED (1U << 24)
bool syn_optimizer_counts(const struct syn_optimizer_options *options);
uint64_t syn_optimizer_count(const struct syn_optimizer *optimizer);

/* Restore a saved count; SYN_FORMAT if it is invalid. */
enum syn_status syn_optimizer_recount(struct syn_optimizer *optimizer, float count);

/* Row number i of the table, or NULL. */
const struct syn_part *syn_optimizer_part(size_t i);

/* How many floats such an optimizer remembers per weight. */
size_t syn_optimizer_memories(const struct syn_optimizer_options *options);

/* The i-th of them, for all weights: [size]. */
float *syn_optimizer_memory(struct syn_optimizer *optimizer, size_t i);

#endif

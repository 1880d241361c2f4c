/* What an optimizer is to the table in optimizers.def: one formula over a run of weights. Where the
 * gradient came from, and whether it was dense or sparse, is settled before (optimizer.c). */
#ifndef SYN_OPTIM_OPTIM_H
#define SYN_OPTIM_OPTIM_H

#include <stdbool.h>
#include <stddef.h>

#include <syncopate/optimizer.h>

#include "base/table.h"

/* The most floats that an optimizer remembers of one weight. */
#define SYN_OPTIM_MOST_MEMORY 2

/* A run of weights and what belongs to them. */
struct syn_optim_run {
    const float *gradient;                /* [count], not yet scaled */
    float *weights;                       /* [count] */
    float *memory[SYN_OPTIM_MOST_MEMORY]; /* [count] each, as many as memory_per_weight() says */
    size_t count;
};

/* What one step gives to the formula. */
struct syn_optim_rates {
    float lr;
    float scale;
    float weight_decay;
    uint64_t update; /* the number of this step, from 1 on */
};

struct syn_optim {
    struct syn_part part;
    bool counts; /* the formula needs the number of the step */
    bool adapts; /* it has momentum of its own, and steps whose length is not the gradient's */

    /* (optional) Find settings that contradict each other. Ranges have been checked already. */
    enum syn_status (*check)(const struct syn_optimizer_options *options);

    /* How many floats are remembered of each weight. */
    size_t (*memory_per_weight)(const struct syn_optimizer_options *options);

    /* Whether a weight whose gradient is zero stays what it is, so that a sparse step may skip it.
     * Only an optimizer without memory may say so. */
    bool (*skips_zeros)(const struct syn_optimizer_options *options);

    /* Update a run of weights. Each weight is updated by itself: how a step is cut into runs
     * changes no bit. */
    void (*apply)(const struct syn_optimizer_options *options, struct syn_optim_rates rates,
                  const struct syn_optim_run *run);
};

/* As syn_optimizer_open_layout(), for a part of the layout's weights, of an optimizer that comes
 * after a residual with so much momentum. Its own momentum makes 1/(1 - mu) of weight decay's
 * strength as it does of the gradient's; that of the residual sees gradients only, as decay must
 * not wait to be selected. So the factor is given here, and the same weight decay means the same
 * for all methods.
 *   first, count  the part
 *   is_rated      tensors have rates of their own; false: all the same */
enum syn_status syn_optimizer_open_part(double momentum,
                                        const struct syn_optimizer_options *options,
                                        const struct syn_layout *layout, size_t first, size_t count,
                                        bool is_rated, struct syn_optimizer **optimizer);

/* Remember nothing, as at first. */
void syn_optimizer_restart(struct syn_optimizer *optimizer);

/* Whether the optimizer of these options adapts. */
bool syn_optimizer_adapts(const struct syn_optimizer_options *options);

/* Updates so far, at most SYN_OPTIM_MOST_COUNTED; 0 if they are not counted. Beyond that beta^t is
 * nothing to 1, and a float holds each of them exactly. */
#define SYN_OPTIM_MOST_COUNTED (1U << 24)
bool syn_optimizer_counts(const struct syn_optimizer_options *options);
uint64_t syn_optimizer_count(const struct syn_optimizer *optimizer);

/* Take on a count that was saved; SYN_FORMAT if it is none. */
enum syn_status syn_optimizer_recount(struct syn_optimizer *optimizer, float count);

/* Row number i of the table, or NULL. */
const struct syn_part *syn_optimizer_part(size_t i);

/* How many floats such an optimizer remembers of each weight. */
size_t syn_optimizer_memories(const struct syn_optimizer_options *options);

/* The i-th of them, of all weights: [size]. */
float *syn_optimizer_memory(struct syn_optimizer *optimizer, size_t i);

#endif

/* Where weights change: a gradient goes in, the weights to compute the next one at come out. */
#ifndef SYN_ENGINE_TRAIN_UPDATE_H
#define SYN_ENGINE_TRAIN_UPDATE_H

#include <stddef.h>

#include <syncopate/engine/train.h>

struct syn_update {
    struct syn_worker *worker;
    struct syn_worker *alone; /* if nothing is to be exchanged, it makes the steps; else NULL */
    struct syn_group *alone_group;
    bool starts_early; /* exchange of complete buckets begins during the backward pass */
};

/* Make ready.
 *   weights  the first ones, the same on all workers */
enum syn_status syn_update_open(const struct syn_train_options *options, struct syn_group *group,
                                const struct syn_layout *layout, const float *weights,
                                struct syn_update *update);

/* Use up one gradient.
 *   gradient  of the mean loss at weights
 *   weights   overwritten by those to go on with */
enum syn_status syn_update_step(struct syn_update *update, const struct syn_rates *rates,
                                const float *gradient, float *weights);

void syn_update_close(struct syn_update *update);

#endif

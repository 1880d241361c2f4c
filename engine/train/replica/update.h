/* Updating the weights: takes a gradient, returns the weights at which the next one is computed. */
#ifndef SYN_ENGINE_TRAIN_UPDATE_H
#define SYN_ENGINE_TRAIN_UPDATE_H

#include <stddef.h>

#include <syncopate/engine/train.h>

struct syn_update {
    struct syn_worker *worker;
    struct syn_worker *alone; /* makes the steps if nothing is exchanged; else NULL */
    struct syn_group *alone_group;
    bool starts_early; /* exchange of complete buckets begins during the backward pass */
};

/* Prepare.
 *   weights  the initial ones, the same on all workers */
enum syn_status syn_update_open(const struct syn_train_options *options, struct syn_group *group,
                                const struct syn_layout *layout, const float *weights,
                                struct syn_update *update);

/* Apply one gradient.
 *   gradient  of the mean loss at weights
 *   weights   overwritten by the next ones */
enum syn_status syn_update_step(struct syn_update *update, const struct syn_rates *rates,
                                const float *gradient, float *weights);

void syn_update_close(struct syn_update *update);

#endif

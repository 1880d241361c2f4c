/* Where weights change: a gradient goes in, the weights to compute the next one at come out.
 * With one worker that is the optimizer and nothing else. Workers that train together differ
 * here and nowhere else in the loop. */
#ifndef SYN_ENGINE_TRAIN_UPDATE_H
#define SYN_ENGINE_TRAIN_UPDATE_H

#include <stddef.h>

#include <syncopate/engine/train.h>

struct syn_update {
    struct syn_optimizer *optimizer;
};

/* Make ready for params weights. */
enum syn_status syn_update_open(const struct syn_train_options *options, size_t params,
                                struct syn_update *update);

/* Use up one gradient.
 *   scale     what each entry of gradient is multiplied by, to clip it
 *   gradient  [params], of the mean loss at weights
 *   weights   [params], overwritten by those to go on with */
enum syn_status syn_update_step(struct syn_update *update, double lr, double scale,
                                const float *gradient, float *weights);

void syn_update_close(struct syn_update *update);

#endif

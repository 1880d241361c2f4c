/* A model with existing weights, and the data that it was made for. */
#ifndef SYN_ENGINE_TRAIN_USE_H
#define SYN_ENGINE_TRAIN_USE_H

#include <syncopate/engine/use.h>

#include "engine/train/checkpoint/checkpoint.h"

struct syn_use {
    struct syn_train_options options; /* checked */
    struct syn_data *data;
    struct syn_model *model;
    float *values; /* [params] */
};

/* Check the options and open the data.
 *   use  zeroed; close it even after a failure */
enum syn_status syn_use_open(const struct syn_train_options *options, struct syn_use *use);

/* The same if examples come from elsewhere: the description of the data that a run has kept is
 * enough. */
enum syn_status syn_use_open_input(const struct syn_train_options *options, struct syn_use *use);

/* Build the model for these data, in the place of any before it, and put the weights into it.
 *   batch  the most examples at once
 *   time   words of each at once */
enum syn_status syn_use_build(struct syn_use *use, const struct syn_weights *weights, size_t batch,
                              size_t time);
void syn_use_close(struct syn_use *use);

#endif

/* From data to model: what fits what, and a loader's batches as a model's examples. */
#ifndef SYN_ENGINE_TRAIN_FEED_H
#define SYN_ENGINE_TRAIN_FEED_H

#include <syncopate/engine/train.h>

/* What a model must read to learn from these data. Numbers to predict: SYN_INVALID, no model has
 * them. */
enum syn_status syn_feed_input(const struct syn_data_info *info, struct syn_input *input);

/* Start going through this worker's share of a part of the data, as the options say. The test
 * part may be smaller than a batch. */
enum syn_status syn_feed_open(const struct syn_data *data, const struct syn_train_options *options,
                              enum syn_data_part part, size_t worker, struct syn_loader **loader);

/* A batch as the examples of a step; lent as long as the batch is. */
struct syn_examples syn_feed_examples(const struct syn_batch *batch, uint64_t step);

#endif

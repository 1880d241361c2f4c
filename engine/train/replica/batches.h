/* From data to model: checking that they fit, and passing a loader's batches to a model as
 * examples. */
#ifndef SYN_ENGINE_TRAIN_BATCHES_H
#define SYN_ENGINE_TRAIN_BATCHES_H

#include <syncopate/engine/train.h>

/* The input that a model needs for these data. Regression: SYN_INVALID, because no model supports
 * it. */
enum syn_status syn_batches_input(const struct syn_data_info *info, struct syn_input *input);

/* The graph of the model that the options name, for these data; free it with syn_graph_free(). */
enum syn_status syn_batches_graph(const struct syn_train_options *options,
                                  const struct syn_data_info *info, struct syn_graph **graph);

/* Open a loader over this worker's share of a part of the data, according to the options. The test
 * part may be smaller than a batch. */
enum syn_status syn_batches_open(const struct syn_data *data,
                                 const struct syn_train_options *options, enum syn_data_part part,
                                 size_t worker, struct syn_loader **loader);

/* A batch as the examples of a step; lent as long as the batch is. */
struct syn_examples syn_batches_examples(const struct syn_batch *batch, uint64_t step);

/* Text is evaluated in this many columns, whatever the number of workers and their batch, so that
 * results are comparable. */
#define SYN_EVALUATION_STREAMS 20

/* The columns of a text that one worker has: `count` of them, which may be 0, from number `first`
 * on; of `all`, at most `most` on any worker. */
struct syn_streams {
    size_t first;
    size_t count;
    size_t all;
    size_t most;
};
struct syn_streams syn_streams(size_t words, size_t worker, size_t workers);

#endif

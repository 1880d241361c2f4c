/* Loaders and models are independent; what they must agree on is determined here. */
#include "engine/train/replica/batches.h"

#include "engine/base/fail.h"
#include "engine/nn/graph.h"

enum syn_status syn_batches_input(const struct syn_data_info *info, struct syn_input *input)
{
    if (info->kind == SYN_DATA_REGRESSION)
        return syn_report(SYN_INVALID, "data: %s is a regression; the models only classify",
                          info->name);
    *input = (struct syn_input){
        .kind = info->kind == SYN_DATA_TOKENS ? SYN_INPUT_TOKENS : SYN_INPUT_IMAGES,
        .channels = info->channels,
        .height = info->height,
        .width = info->width,
        .classes = info->outputs,
    };
    return SYN_OK;
}

enum syn_status syn_batches_graph(const struct syn_train_options *options,
                                  const struct syn_data_info *info, struct syn_graph **graph)
{
    struct syn_input input;
    SYN_TRY(syn_batches_input(info, &input));
    if (options->graph)
        return graph_copy(options->graph, graph);
    if (options->model_file[0])
        return syn_graph_load(options->model_file, &input, graph);
    return syn_graph_ready(options->model, &input, graph);
}

struct syn_streams syn_streams(size_t words, size_t worker, size_t workers)
{
    size_t all = words < SYN_EVALUATION_STREAMS ? words : SYN_EVALUATION_STREAMS;
    size_t first = worker * all / workers;
    return (struct syn_streams){first, (worker + 1) * all / workers - first, all,
                                (all + workers - 1) / workers};
}

/* A worker without a column of its own gets the first one, and ignores it. */
static enum syn_status open_streams(const struct syn_data *data,
                                    const struct syn_train_options *options,
                                    enum syn_data_part part, size_t worker,
                                    struct syn_loader **loader)
{
    struct syn_streams streams =
        syn_streams(syn_data_info(data)->count[part], worker, (size_t)options->workers);
    struct syn_loader_options how =
        syn_loader_defaults(part, streams.count > 0 ? streams.count : 1);
    how.time = options->time;
    how.streams = streams.all;
    how.first = streams.count > 0 ? streams.first : 0;
    return syn_loader_open(data, &how, loader);
}

enum syn_status syn_batches_open(const struct syn_data *data,
                                 const struct syn_train_options *options, enum syn_data_part part,
                                 size_t worker, struct syn_loader **loader)
{
    const struct syn_data_info *info = syn_data_info(data);
    bool learning = part == SYN_DATA_TRAIN;
    if (!learning && info->kind == SYN_DATA_TOKENS)
        return open_streams(data, options, part, worker, loader);
    size_t share = info->count[part] / options->workers;
    bool is_small = !learning && share < options->batch;
    struct syn_loader_options how =
        syn_loader_defaults(part, is_small && share > 0 ? share : options->batch);
    how.worker = worker;
    how.workers = options->workers;
    how.time = options->time;
    how.seed = options->seed;
    how.augment = learning && options->augment;
    how.threads = (size_t)options->loader_threads;
    return syn_loader_open(data, &how, loader);
}

struct syn_examples syn_batches_examples(const struct syn_batch *batch, uint64_t step)
{
    return (struct syn_examples){
        .count = batch->count,
        .images = batch->input,
        .tokens = batch->tokens,
        .labels = batch->labels,
        .step = step,
    };
}

/* Opening and closing a run. What can be refused is found before the directory of the run is
 * made, so that bad input leaves nothing behind. */
#include "engine/train/run.h"

#include <stdlib.h>

#include "engine/base/fail.h"
#include "engine/base/memory.h"
#include "engine/train/feed.h"
#include "engine/train/options.h"

/* Workers draw dropout masks of their own. */
static uint64_t dropout_seed(const struct syn_run *run)
{
    return run->options.seed + 1000003 * run->rank;
}

static enum syn_status build_model(struct syn_run *run)
{
    struct syn_input input;
    struct syn_graph *graph;
    struct syn_model_options how;
    SYN_TRY(syn_feed_input(syn_data_info(run->data), &input));
    SYN_TRY(syn_graph_ready(run->options.model, &input, &graph));
    syn_model_defaults(&how);
    how.batch = run->options.batch;
    how.time = run->options.time;
    how.threads = run->options.threads;
    how.seed = dropout_seed(run);
    enum syn_status status = syn_model_build(graph, &how, &run->model);
    syn_graph_free(graph);
    return status;
}

static enum syn_status open_data(struct syn_run *run)
{
    SYN_TRY(syn_data_open(&run->options.data, &run->data));
    const struct syn_data_info *info = syn_data_info(run->data);
    run->on_text = info->kind == SYN_DATA_TOKENS;
    SYN_TRY(syn_feed_open(run->data, &run->options, SYN_DATA_TRAIN, run->rank, &run->learning));
    run->steps_per_epoch = syn_loader_batches(run->learning);
    run->steps = run->options.steps;
    if (run->steps == 0)
        run->steps = run->options.epochs * run->steps_per_epoch;
    bool judges = run->options.evaluate && !run->options.no_exchange;
    if (judges && info->count[SYN_DATA_TEST] > 0)
        SYN_TRY(syn_feed_open(run->data, &run->options, SYN_DATA_TEST, run->rank, &run->judging));
    return SYN_OK;
}

static enum syn_status allocate(struct syn_run *run)
{
    size_t statistics = syn_layout_size(syn_model_statistics_layout(run->model));
    size_t workers = run->options.workers;
    SYN_TRY(syn_engine_allocate(run->params, sizeof *run->weights, &run->weights));
    SYN_TRY(syn_engine_allocate(run->params, sizeof *run->global, &run->global));
    SYN_TRY(syn_engine_allocate(run->params, sizeof *run->gradient, &run->gradient));
    SYN_TRY(syn_engine_allocate((1 + workers) * statistics, sizeof(float), &run->statistics));
    return syn_engine_allocate(workers, sizeof *run->reports, &run->reports);
}

enum syn_status syn_run_open(const struct syn_train_options *options, struct syn_group *group,
                             struct syn_run *run)
{
    run->options = *options;
    run->group = group;
    run->rank = syn_group_rank(group);
    run->options.workers = syn_group_size(group);
    SYN_TRY(syn_train_check(&run->options));
    SYN_TRY(open_data(run));
    SYN_TRY(build_model(run));
    run->options.worker.run_steps = run->steps;
    run->params = syn_layout_size(syn_model_layout(run->model));
    SYN_TRY(allocate(run));
    syn_model_initialise(run->model, run->options.seed, run->weights);
    return SYN_OK;
}

enum syn_status syn_run_join(struct syn_run *run)
{
    return syn_update_open(&run->options, run->group, syn_model_layout(run->model), run->weights,
                           &run->update);
}

void syn_run_close(struct syn_run *run)
{
    syn_files_close(&run->files);
    free(run->gradient);
    free(run->weights);
    free(run->global);
    free(run->statistics);
    free(run->reports);
    syn_update_close(&run->update);
    syn_loader_close(run->judging);
    syn_loader_close(run->learning);
    syn_model_free(run->model);
    syn_data_close(run->data);
}

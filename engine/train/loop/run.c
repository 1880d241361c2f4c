/* Opening and closing a run. What can be refused is found before the directory of the run is
 * made, so that bad input leaves nothing behind. */
#include "engine/train/loop/loop.h"

#include <stdlib.h>
#include <string.h>

#include "engine/base/clock.h"
#include "engine/base/fail.h"
#include "engine/base/memory.h"
#include "engine/base/path.h"
#include "engine/base/tree.h"
#include "engine/train/options/length.h"
#include "engine/train/options/options.h"
#include "engine/train/replica/batches.h"
#include "engine/train/replica/places.h"

bool syn_run_serves(const struct syn_run *run)
{
    return run->rank >= run->options.workers;
}

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
    if (run->judging && run->on_text) {
        size_t words = syn_data_info(run->data)->count[SYN_DATA_TEST];
        struct syn_feed_streams streams =
            syn_feed_streams(words, run->rank, (size_t)run->options.workers);
        how.batch = streams.most > how.batch ? streams.most : how.batch;
        run->has_no_stream = streams.count == 0;
    }
    how.time = run->options.time;
    how.threads = run->threads;
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
    size_t share = syn_run_serves(run) ? 0 : run->rank; /* a server only counts the steps */
    SYN_TRY(syn_feed_open(run->data, &run->options, SYN_DATA_TRAIN, share, &run->learning));
    uint64_t batches = syn_loader_batches(run->learning);
    run->steps_per_epoch = batches / run->options.accumulate;
    if (run->steps_per_epoch == 0)
        return syn_report(SYN_INVALID, "accumulate is %llu, but an epoch has only %llu batches",
                          (unsigned long long)run->options.accumulate, (unsigned long long)batches);
    run->steps = run->options.steps;
    if (run->steps == 0)
        run->steps = run->options.epochs * run->steps_per_epoch;
    bool judges = run->options.evaluate && !run->options.no_exchange && !syn_run_serves(run);
    if (judges && info->count[SYN_DATA_TEST] > 0)
        SYN_TRY(syn_feed_open(run->data, &run->options, SYN_DATA_TEST, run->rank, &run->judging));
    if (judges && run->on_text && info->count[SYN_DATA_VALID] > 0)
        SYN_TRY(
            syn_feed_open(run->data, &run->options, SYN_DATA_VALID, run->rank, &run->validating));
    return SYN_OK;
}

struct syn_length syn_run_length(const struct syn_run *run)
{
    uint64_t places = (uint64_t)((int64_t)run->steps + run->ahead);
    return (struct syn_length){places, run->steps_per_epoch};
}

static enum syn_status allocate(struct syn_run *run)
{
    size_t statistics = syn_layout_size(syn_model_statistics_layout(run->model));
    size_t workers = run->options.workers;
    SYN_TRY(syn_engine_allocate(run->params, sizeof *run->weights, &run->weights));
    if (syn_run_serves(run))
        return SYN_OK;
    if (run->options.accumulate > 1)
        SYN_TRY(syn_engine_allocate(run->params, sizeof *run->sum, &run->sum));
    SYN_TRY(syn_engine_allocate(run->params, sizeof *run->global, &run->global));
    SYN_TRY(syn_engine_allocate(run->params, sizeof *run->gradient, &run->gradient));
    SYN_TRY(syn_engine_allocate((1 + workers) * statistics, sizeof(float), &run->statistics));
    SYN_TRY(syn_engine_allocate(workers, sizeof *run->wishes, &run->wishes));
    SYN_TRY(syn_run_allocate_undo(run));
    return syn_engine_allocate(workers, sizeof *run->reports, &run->reports);
}

/* A worker's part has about four arrays of the model's size: its weights and the global ones, the
 * optimizer's memory, what was not sent. Where workers are processes, worker 0 knows of its own
 * only. */
static enum syn_status check_room(const struct syn_run *run)
{
    bool share = strcmp(syn_group_transport(run->group), "threads") == 0;
    double parts = share ? (double)run->options.workers : 1;
    return syn_checkpoint_check_room(run->options.out,
                                     parts * 4 * sizeof(float) * (double)run->params,
                                     SYN_CHECKPOINTS_KEPT + (run->validating ? 1 : 0));
}

/* Remove what an earlier run has left where this one's checkpoints go. Worker 0 has seen that it
 * may, and has locked the directory; others, maybe on other file systems, do so when they have
 * heard from it. */
static enum syn_status clear_up(const struct syn_run *run)
{
    char path[SYN_PATH_BYTES];
    const struct syn_train_options *options = &run->options;
    if (!options->out[0])
        return SYN_OK;
    if (!options->overwrite || syn_files_continue(options)) {
        syn_checkpoint_clear_parts(options->out);
        return SYN_OK;
    }
    SYN_TRY(syn_path_join(path, options->out, SYN_CHECKPOINT_FOLDER));
    return syn_tree_remove(path);
}

/* Servers do not compute; one thread is enough for the model whose layout they need. */
static enum syn_status share_cores(struct syn_run *run)
{
    struct syn_place *all = NULL;
    size_t workers = (size_t)run->options.workers;
    SYN_TRY(syn_engine_allocate(workers, sizeof *all, &all));
    enum syn_status status = syn_places_gather(run->group, run->options.threads, all);
    run->threads = 1;
    if (status == SYN_OK && !syn_run_serves(run)) {
        size_t length = syn_places_json(all, workers, NULL, 0);
        run->threads = syn_places_threads(all, workers, run->rank);
        status = syn_engine_allocate(length + 1, 1, &run->hosts);
        if (status == SYN_OK)
            syn_places_json(all, workers, run->hosts, length + 1);
        run->files.hosts = run->hosts;
    }
    free(all);
    return status;
}

enum syn_status syn_run_open(const struct syn_train_options *options, struct syn_group *group,
                             struct syn_run *run)
{
    run->options = *options;
    run->group = group;
    run->rank = syn_group_rank(group);
    run->options.workers = syn_group_size(group);
    run->options.servers = syn_group_servers(group);
    SYN_TRY(syn_train_check(&run->options));
    if (run->options.resume[0] && !run->options.out[0])
        memcpy(run->options.out, run->options.resume, sizeof run->options.out);
    SYN_TRY(share_cores(run));
    SYN_TRY(open_data(run));
    if (!syn_train_is_auto(&run->options))
        syn_length_resolve(syn_run_length(run), &run->options);
    SYN_TRY(build_model(run));
    run->options.worker.run_steps = run->steps;
    run->params = syn_layout_size(syn_model_layout(run->model));
    SYN_TRY(allocate(run));
    syn_model_initialise(run->model, run->options.seed, run->weights);
    run->saved = UINT64_MAX;
    return SYN_OK;
}

enum syn_status syn_run_prepare(struct syn_run *run)
{
    if (syn_run_serves(run))
        return SYN_OK;
    if (run->options.resume[0])
        SYN_TRY(syn_resume_survey(run));
    if (run->rank == 0) {
        SYN_TRY(check_room(run));
        SYN_TRY(syn_files_open(&run->options, &run->files));
        SYN_TRY(clear_up(run));
    }
    return SYN_OK;
}

/* Worker 0 has made the directory; the others, maybe on other file systems, hear where, and clear
 * up. Nobody writes there before all have. */
static enum syn_status share_directory(struct syn_run *run)
{
    char is_clear = 1;
    char *all = calloc((size_t)run->options.workers, sizeof run->files.out);
    if (!all)
        return syn_report(SYN_MEMORY, "cannot allocate the names of directories");
    enum syn_status status =
        syn_worker_gather(run->update.worker, run->files.out, sizeof run->files.out, all);
    if (status == SYN_OK)
        memcpy(run->files.out, all, sizeof run->files.out);
    if (status == SYN_OK && run->rank > 0)
        status = clear_up(run);
    if (status == SYN_OK)
        status = syn_worker_gather(run->update.worker, &is_clear, sizeof is_clear, all);
    free(all);
    return status;
}

/* A method that never begins is another one than was asked for. */
static void warn_of_idle(const struct syn_run *run)
{
    char text[SYN_TEXT_BYTES];
    syn_length_find_idle(syn_run_length(run), &run->options, text, sizeof text);
    if (text[0] && run->rank == 0)
        syn_report_log(SYN_LOG_WARNING, "%s", text);
}

enum syn_status syn_run_join(struct syn_run *run)
{
    bool resumes = run->options.resume[0] != '\0';
    if (resumes)
        SYN_TRY(syn_resume_agree(run));
    warn_of_idle(run);
    SYN_TRY(syn_update_open(&run->options, run->group, syn_model_layout(run->model), run->weights,
                            &run->update));
    SYN_TRY(share_directory(run));
    run->began_ns = syn_engine_clock_ns();
    if (resumes)
        SYN_TRY(syn_resume_load(run));
    return run->rank == 0 ? syn_files_begin(&run->options, run->step, &run->files) : SYN_OK;
}

void syn_run_close(struct syn_run *run)
{
    syn_update_close(&run->update); /* first: it may still read what is freed here */
    syn_files_close(&run->files);
    free(run->hosts);
    free(run->gradient);
    free(run->sum);
    free(run->weights);
    free(run->global);
    free(run->statistics);
    free(run->reports);
    free(run->wishes);
    free(run->undo);
    free(run->told);
    syn_loader_close(run->judging);
    syn_loader_close(run->validating);
    syn_loader_close(run->learning);
    syn_model_free(run->model);
    syn_data_close(run->data);
}

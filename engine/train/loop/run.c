/* Opening and closing a run. Bad input is found before the directory of the run is created, so that
 * it leaves nothing behind. */
#include <stdlib.h>
#include <string.h>

#include "engine/base/clock.h"
#include "engine/base/fail.h"
#include "engine/base/path.h"
#include "engine/base/tree.h"
#include "engine/train/loop/compute.h"

#define SMALL_BATCH 8 /* images: with fewer in a batch, batch norm's statistics are mostly noise */

enum syn_status syn_run_open(const struct syn_train_options *options, struct syn_group *group,
                             struct syn_run *run)
{
    struct syn_replica *replica = &run->replica;
    SYN_TRY(syn_replica_open(options, group, replica));
    SYN_TRY(syn_evaluation_open(replica, &run->metrics, &run->control, &run->evaluation));
    SYN_TRY(syn_replica_build(replica, syn_evaluation_batch(&run->evaluation)));
    run->checkpoints.replica = replica;
    run->checkpoints.metrics = &run->metrics;
    run->checkpoints.evaluation = &run->evaluation;
    run->checkpoints.saved = UINT64_MAX;
    if (syn_replica_serves(replica))
        return SYN_OK;
    SYN_TRY(syn_forms_open(&replica->options, &run->forms));
    SYN_TRY(syn_compute_open(replica, &run->compute));
    SYN_TRY(syn_evaluation_allocate(&run->evaluation));
    SYN_TRY(syn_control_open(replica, &run->control));
    return syn_metrics_open(replica, &run->metrics);
}

/* A worker's part has about four arrays of the model's size: its weights and the global ones, the
 * optimizer's state, the residual. Where workers are processes, worker 0 counts only its own. */
static enum syn_status check_room(const struct syn_run *run)
{
    const struct syn_replica *replica = &run->replica;
    bool share = syn_group_is_one_process(replica->group);
    double parts = share ? (double)replica->options.workers : 1;
    return syn_checkpoint_check_room(
        replica->options.out, parts * 4 * sizeof(float) * (double)replica->params,
        SYN_CHECKPOINTS_KEPT + (syn_evaluation_keeps_best(&run->evaluation) ? 1 : 0));
}

/* Remove what an earlier run left where this run's checkpoints go. Worker 0 has checked that it
 * may, and has locked the directory; the others, possibly on other file systems, do so after worker
 * 0 has told them. */
static enum syn_status clear_up(const struct syn_train_options *options)
{
    char path[SYN_PATH_BYTES];
    if (!options->out[0])
        return SYN_OK;
    if (!options->overwrite || syn_files_continue(options)) {
        syn_checkpoint_clear_parts(options->out);
        return SYN_OK;
    }
    SYN_TRY(syn_path_join(path, options->out, SYN_CHECKPOINT_FOLDER));
    return syn_tree_remove(path);
}

enum syn_status syn_run_prepare(struct syn_run *run)
{
    const struct syn_train_options *options = &run->replica.options;
    if (syn_replica_serves(&run->replica))
        return SYN_OK;
    if (options->resume[0])
        SYN_TRY(syn_resume_survey(&run->checkpoints));
    if (run->replica.rank > 0)
        return SYN_OK;
    SYN_TRY(check_room(run));
    SYN_TRY(syn_files_open(options, &run->metrics.files));
    SYN_TRY(syn_files_input(run->replica.data, &run->metrics.files));
    SYN_TRY(syn_files_model(options, &run->metrics.files));
    return clear_up(options);
}

/* Worker 0 has created the directory; the others, possibly on other file systems, receive its path,
 * and clean up. No worker writes there before all have cleaned up. */
static enum syn_status share_directory(struct syn_run *run)
{
    char is_clear = 1;
    struct syn_worker *worker = run->replica.update.worker;
    struct syn_files *files = &run->metrics.files;
    char *all = calloc((size_t)run->replica.options.workers, sizeof files->out);
    if (!all)
        return syn_report(SYN_MEMORY, "cannot allocate the names of directories");
    enum syn_status status = syn_worker_gather(worker, files->out, sizeof files->out, all);
    if (status == SYN_OK)
        memcpy(files->out, all, sizeof files->out);
    if (status == SYN_OK && run->replica.rank > 0)
        status = clear_up(&run->replica.options);
    if (status == SYN_OK)
        status = syn_worker_gather(worker, &is_clear, sizeof is_clear, all);
    free(all);
    return status;
}

/* A method that never begins is not the one that was requested. */
static void warn_of_idle(const struct syn_replica *replica)
{
    char text[SYN_TEXT_BYTES];
    syn_length_find_idle(syn_position_length(&replica->at), &replica->options, text, sizeof text);
    if (text[0] && replica->rank == 0)
        syn_report_log(SYN_LOG_WARNING, "%s", text);
}

/* Adam and similar optimizers see an entry of a sparse gradient only from time to time: the sum of
 * what has accumulated. */
static void warn_of_sparse(const struct syn_replica *replica)
{
    struct syn_traits traits = syn_worker_traits(&replica->options.worker);
    if (traits.adapts && !traits.is_dense && !traits.is_local && replica->rank == 0)
        syn_report_log(SYN_LOG_WARNING,
                       "optimizer %s divides each entry by the size of its past gradients, which "
                       "select %s hides from it: expect a much higher loss than with ssgd; algo "
                       "diloco and sparseloco send what several steps have changed instead",
                       replica->options.worker.optimizer.optimizer,
                       replica->options.worker.reducer.select);
}

/* Images in the last batch that the first worker, whose share is the largest, has in an epoch. */
static uint64_t last_batch(uint64_t images, uint64_t workers, uint64_t batch)
{
    uint64_t share = images / workers + (images % workers != 0);
    return share - (share - 1) / batch * batch;
}

/* The batch closest to the requested one whose last of an epoch is at least half of it. */
static uint64_t better_batch(uint64_t images, uint64_t workers, uint64_t batch)
{
    for (uint64_t by = 1; by < batch; by++)
        for (int sign = 1; sign >= -1; sign -= 2) {
            uint64_t other = sign > 0 ? batch + by : batch - by;
            if (other * workers <= images && 2 * last_batch(images, workers, other) >= other)
                return other;
        }
    return batch;
}

/* Batch norm divides by the standard deviation of the batch. Where a few images have few pixels
 * left, that is nearly 0 in some channels, and one such step per epoch ruins the others' work:
 * ResNet-18 on 1,800 images of 32 x 32 barely learned with 2 in the last batch, in PyTorch too. */
static void warn_of_small_batch(const struct syn_replica *replica)
{
    const struct syn_train_options *options = &replica->options;
    uint64_t images = syn_data_info(replica->data)->count[SYN_DATA_TRAIN];
    uint64_t workers = options->workers, batch = options->batch;
    uint64_t last = replica->on_text ? batch : last_batch(images, workers, batch);
    bool reaches_it = replica->at.steps >= replica->at.steps_per_epoch;
    if (replica->rank > 0 || !reaches_it || last >= SMALL_BATCH || 2 * last >= batch)
        return;
    if (syn_layout_count(syn_model_statistics_layout(replica->model)) > 0)
        syn_report_log(SYN_LOG_WARNING,
                       "the last batch of each epoch has only %llu image%s per worker, too few for "
                       "batch norm in most networks; --batch %llu avoids this",
                       (unsigned long long)last, last == 1 ? "" : "s",
                       (unsigned long long)better_batch(images, workers, batch));
}

enum syn_status syn_run_join(struct syn_run *run)
{
    struct syn_replica *replica = &run->replica;
    const struct syn_train_options *options = &replica->options;
    bool resumes = options->resume[0] != '\0';
    if (resumes)
        SYN_TRY(syn_resume_agree(&run->checkpoints));
    warn_of_idle(replica);
    warn_of_sparse(replica);
    warn_of_small_batch(replica);
    syn_forms_announce(replica);
    SYN_TRY(syn_update_open(options, replica->group, syn_model_layout(replica->model),
                            replica->weights, &replica->update));
    SYN_TRY(share_directory(run));
    run->metrics.began_ns = syn_engine_clock_ns();
    if (resumes)
        SYN_TRY(syn_resume_load(&run->checkpoints));
    return replica->rank == 0 ? syn_files_begin(options, replica->at.step, &run->metrics.files)
                              : SYN_OK;
}

void syn_run_close(struct syn_run *run)
{
    syn_update_close(&run->replica.update); /* first: it may still read what is freed here */
    run->replica.update = (struct syn_update){0};
    syn_metrics_close(&run->metrics);
    syn_control_close(&run->control);
    syn_evaluation_close(&run->evaluation);
    syn_compute_close(&run->compute);
    syn_forms_close(&run->forms);
    syn_replica_close(&run->replica);
}

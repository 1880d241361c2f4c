/* Evaluation: one pass over the test part, each worker over its share, with the global weights and
 * the mean of all workers' running statistics. */
#include "engine/train/evaluate/evaluate.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "engine/base/fail.h"
#include "engine/base/memory.h"

static size_t statistics_size(const struct syn_replica *replica)
{
    return syn_layout_size(syn_model_statistics_layout(replica->model));
}

enum syn_status syn_evaluation_open(struct syn_replica *replica, struct syn_metrics *metrics,
                                    struct syn_control *control, struct syn_evaluation *evaluation)
{
    const struct syn_train_options *options = &replica->options;
    const struct syn_data_info *info = syn_data_info(replica->data);
    evaluation->replica = replica;
    evaluation->metrics = metrics;
    evaluation->control = control;
    if (!options->evaluate || options->no_exchange || syn_replica_serves(replica))
        return SYN_OK;
    if (info->count[SYN_DATA_TEST] > 0)
        SYN_TRY(syn_batches_open(replica->data, options, SYN_DATA_TEST, replica->rank,
                                 &evaluation->test));
    if (replica->on_text && info->count[SYN_DATA_VALID] > 0)
        SYN_TRY(syn_batches_open(replica->data, options, SYN_DATA_VALID, replica->rank,
                                 &evaluation->validation));
    return SYN_OK;
}

uint64_t syn_evaluation_batch(struct syn_evaluation *evaluation)
{
    const struct syn_replica *replica = evaluation->replica;
    uint64_t batch = replica->options.batch;
    if (!evaluation->test || !replica->on_text)
        return batch;
    size_t words = syn_data_info(replica->data)->count[SYN_DATA_TEST];
    struct syn_streams streams =
        syn_streams(words, replica->rank, (size_t)replica->options.workers);
    evaluation->has_no_stream = streams.count == 0;
    return streams.most > batch ? streams.most : batch;
}

enum syn_status syn_evaluation_allocate(struct syn_evaluation *evaluation)
{
    size_t copies = 1 + evaluation->replica->options.workers;
    return syn_engine_allocate(copies * statistics_size(evaluation->replica), sizeof(float),
                               &evaluation->statistics);
}

void syn_evaluation_close(struct syn_evaluation *evaluation)
{
    free(evaluation->statistics);
    syn_loader_close(evaluation->test);
    syn_loader_close(evaluation->validation);
}

/* An evaluation may be due after every epoch, which can be counted in steps only while the number
 * of workers stays the same. */
bool syn_evaluation_is_due(const struct syn_evaluation *evaluation)
{
    const struct syn_position *at = &evaluation->replica->at;
    uint64_t every = evaluation->replica->options.eval_every;
    bool ends_epoch = syn_position_place(at) % at->steps_per_epoch == 0;
    bool due = at->step == at->steps || (every ? at->step % every == 0 : ends_epoch);
    bool done = evaluation->step == at->step || at->step == 0;
    return evaluation->test && due && !done;
}

void syn_evaluation_tell(struct syn_evaluation *evaluation, double evaluated)
{
    double loss = syn_sums_loss(&evaluation->scores.validation);
    struct syn_train_progress progress = syn_metrics_progress(evaluation->metrics, evaluated, loss);
    syn_control_progress(evaluation->control, &progress);
}

static enum syn_status check_loss(const struct syn_replica *replica, double loss)
{
    if (isfinite(loss))
        return SYN_OK;
    return syn_report(SYN_NONFINITE, "step %llu: the loss in an evaluation is %g",
                      (unsigned long long)replica->at.step, loss);
}

/* Put the mean of all workers' running statistics into the model, saving its own. */
static enum syn_status average_statistics(struct syn_evaluation *evaluation)
{
    const struct syn_replica *replica = evaluation->replica;
    size_t count = statistics_size(replica);
    size_t workers = replica->options.workers;
    float *own = evaluation->statistics;
    float *all = evaluation->statistics + count;
    float *now = syn_model_statistics(replica->model);
    if (count == 0)
        return SYN_OK;
    memcpy(own, now, count * sizeof *own);
    SYN_TRY(syn_worker_gather(replica->update.worker, own, count * sizeof *own, all));
    for (size_t i = 0; i < count; i++) {
        float sum = 0;
        for (size_t w = 0; w < workers; w++)
            sum += all[w * count + i];
        now[i] = sum / (float)workers;
    }
    return SYN_OK;
}

static void restore_statistics(struct syn_evaluation *evaluation)
{
    struct syn_model *model = evaluation->replica->model;
    size_t count = statistics_size(evaluation->replica);
    if (count > 0)
        memcpy(syn_model_statistics(model), evaluation->statistics, count * sizeof(float));
}

/* This worker's share of a part. */
static enum syn_status evaluate_share(struct syn_evaluation *evaluation, struct syn_loader *loader,
                                      struct syn_sums *sums)
{
    struct syn_replica *replica = evaluation->replica;
    uint64_t batches = syn_loader_batches(loader);
    syn_model_restart(replica->model, SYN_CARRY_EVALUATION);
    evaluation->control->is_handed_over = false;
    for (uint64_t i = 0; i < batches; i++) {
        struct syn_batch batch;
        struct syn_step_record record = {0};
        syn_loader_next(loader, &batch);
        struct syn_examples examples = syn_batches_examples(&batch, replica->at.step);
        examples.stop = syn_control_hook(evaluation->control);
        if (batch.count > 0 && !evaluation->has_no_stream)
            SYN_TRY(syn_model_evaluate(replica->model, replica->global, &examples, &record.result));
        syn_sums_add(sums, &record);
        syn_evaluation_tell(evaluation, (double)(i + 1) / (double)batches);
        if (evaluation->control->wants_stop)
            return SYN_STOPPED;
    }
    return SYN_OK;
}

/* All of a part, by all workers; control->stopped if a worker was told to stop before it had
 * processed all of its share. */
static enum syn_status evaluate_part(struct syn_evaluation *evaluation, struct syn_loader *loader,
                                     struct syn_sums *all)
{
    struct syn_worker_report own = {0};
    struct syn_loader_position begin = {0, 0};
    const struct syn_worker_report *reports = evaluation->metrics->reports;
    struct syn_control *control = evaluation->control;
    SYN_TRY(syn_loader_seek(loader, begin));
    enum syn_status status = evaluate_share(evaluation, loader, &own.sums);
    if (status != SYN_STOPPED)
        SYN_TRY(status);
    own.is_good = status == SYN_OK;
    SYN_TRY(syn_metrics_exchange(evaluation->metrics, &own));
    *all = reports[0].sums;
    for (size_t w = 0; w < evaluation->replica->options.workers; w++) {
        if (w > 0)
            syn_sums_join(all, &reports[w].sums);
        control->stopped = control->stopped || reports[w].is_good == 0;
    }
    return control->stopped ? SYN_OK : check_loss(evaluation->replica, syn_sums_loss(all));
}

bool syn_evaluation_keeps_best(const struct syn_evaluation *evaluation)
{
    return evaluation->validation || (evaluation->test && evaluation->replica->options.keep_best);
}

/* The validation part, or the test part if requested, decides which weights are the best; they are
 * saved immediately. */
static void keep_best(struct syn_evaluation *evaluation)
{
    const struct syn_position *at = &evaluation->replica->at;
    const struct syn_scores *scores = &evaluation->scores;
    double loss = syn_sums_loss(evaluation->validation ? &scores->validation : &scores->test);
    if (!syn_evaluation_keeps_best(evaluation) ||
        (evaluation->best.step > 0 && loss >= evaluation->best.loss))
        return;
    evaluation->best = (struct syn_best){at->step, syn_position_epoch(at), loss};
    evaluation->control->wants_save = true;
}

enum syn_status syn_evaluate(struct syn_evaluation *evaluation)
{
    struct syn_replica *replica = evaluation->replica;
    struct syn_scores scores = {.has_validation = evaluation->validation != NULL};
    SYN_TRY(syn_worker_settle(replica->update.worker, replica->global));
    SYN_TRY(average_statistics(evaluation));
    enum syn_status status = SYN_OK;
    if (evaluation->validation)
        status = evaluate_part(evaluation, evaluation->validation, &scores.validation);
    if (status == SYN_OK && !evaluation->control->stopped)
        status = evaluate_part(evaluation, evaluation->test, &scores.test);
    restore_statistics(evaluation);
    SYN_TRY(status);
    if (evaluation->control->stopped)
        return SYN_OK;
    evaluation->scores = scores;
    evaluation->step = replica->at.step;
    keep_best(evaluation);
    syn_metrics_log_scores(evaluation->metrics, &scores);
    return SYN_OK;
}

void syn_evaluation_summary(const struct syn_evaluation *evaluation,
                            struct syn_train_summary *summary)
{
    uint64_t step = evaluation->replica->at.step;
    bool is_of_now = evaluation->step == step && step > 0;
    double nothing = (double)NAN;
    const struct syn_sums *test = &evaluation->scores.test;
    const struct syn_best *best = &evaluation->best;
    double loss = syn_sums_loss(test);
    double validation_loss = syn_sums_loss(&evaluation->scores.validation);
    summary->test_loss = is_of_now ? loss : nothing;
    summary->test_accuracy = is_of_now ? syn_sums_accuracy(test) : nothing;
    summary->test_perplexity = is_of_now ? exp(loss) : nothing;
    summary->validation_loss = is_of_now ? validation_loss : nothing;
    summary->best_step = best->step;
    summary->best_epoch = best->epoch;
    summary->best_validation_loss = best->step > 0 ? best->loss : nothing;
}

/* Evaluating existing weights. The part is processed like in a run, one worker's share after
 * another, and summed in the same order: rounding in single precision is the same, and so are all
 * digits. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "engine/base/fail.h"
#include "engine/base/memory.h"
#include "engine/train/use/use.h"

#define LIKELIEST 5

struct evaluating {
    struct syn_use use;
    enum syn_data_part part;
    float *scores; /* [batch][time][classes] */
    struct syn_quality *quality;
};

/* Count one guess. Among equal scores the first class wins. */
static void count(struct syn_quality *quality, const float *scores, size_t label)
{
    size_t above = 0;
    size_t guess = 0;
    for (size_t c = 0; c < quality->classes; c++) {
        above += scores[c] > scores[label] || (scores[c] == scores[label] && c < label);
        guess = scores[c] > scores[guess] ? c : guess;
    }
    quality->among_five += above < LIKELIEST;
    if (quality->confusion)
        quality->confusion[label * quality->classes + guess]++;
}

static enum syn_status evaluate_batch(struct evaluating *evaluating, const struct syn_batch *batch,
                                      struct syn_sums *sums)
{
    struct syn_quality *quality = evaluating->quality;
    struct syn_step_record record = {0};
    struct syn_examples examples = syn_batches_examples(batch, 0);
    size_t labels = batch->count *
                    (quality->on_text ? (size_t)evaluating->use.options.time : 1); /* of each row */
    if (batch->count > 0)
        SYN_TRY(syn_model_score(evaluating->use.model, evaluating->use.values, &examples,
                                &record.result, evaluating->scores));
    syn_sums_add(sums, &record);
    for (size_t i = 0; i < labels; i++)
        if (batch->labels[i] >= 0)
            count(quality, evaluating->scores + i * quality->classes, (size_t)batch->labels[i]);
    return SYN_OK;
}

/* The share of one worker. */
static enum syn_status evaluate_share(struct evaluating *evaluating, size_t worker,
                                      struct syn_sums *sums)
{
    struct syn_loader *loader = NULL;
    const struct syn_use *use = &evaluating->use;
    size_t workers = (size_t)use->options.workers;
    size_t count = syn_data_info(use->data)->count[evaluating->part];
    if (evaluating->quality->on_text && syn_streams(count, worker, workers).count == 0)
        return SYN_OK;
    SYN_TRY(syn_batches_open(use->data, &use->options, evaluating->part, worker, &loader));
    syn_model_restart(use->model, SYN_CARRY_EVALUATION);
    enum syn_status status = SYN_OK;
    for (uint64_t i = 0; i < syn_loader_batches(loader) && status == SYN_OK; i++) {
        struct syn_batch batch;
        syn_loader_next(loader, &batch);
        status = evaluate_batch(evaluating, &batch, sums);
    }
    syn_loader_close(loader);
    return status;
}

static enum syn_status evaluate_all(struct evaluating *evaluating)
{
    struct syn_quality *quality = evaluating->quality;
    struct syn_sums all = {0};
    for (size_t w = 0; w < evaluating->use.options.workers; w++) {
        struct syn_sums own = {0};
        SYN_TRY(evaluate_share(evaluating, w, w == 0 ? &all : &own));
        if (w > 0)
            syn_sums_join(&all, &own);
    }
    quality->labels = all.counted;
    quality->correct = all.correct;
    quality->loss = syn_sums_loss(&all);
    if (isfinite(quality->loss))
        return SYN_OK;
    return syn_report(SYN_NONFINITE, "the loss is %g", quality->loss);
}

static enum syn_status copy_names(const struct syn_data_info *info, struct syn_quality *quality)
{
    if (!info->names)
        return SYN_OK;
    SYN_TRY(syn_engine_allocate(info->outputs, sizeof *quality->names, &quality->names));
    for (size_t i = 0; i < info->outputs; i++) {
        quality->names[i] = strdup(info->names[i]);
        if (!quality->names[i])
            return syn_report(SYN_MEMORY, "cannot allocate the names of %zu classes",
                              info->outputs);
    }
    return SYN_OK;
}

/* In a run, training and evaluation use one model, whose batch is the larger of the two. */
static size_t batch_of(const struct evaluating *evaluating)
{
    const struct syn_train_options *options = &evaluating->use.options;
    size_t words = syn_data_info(evaluating->use.data)->count[evaluating->part];
    size_t most = syn_streams(words, 0, (size_t)options->workers).most;
    bool is_more = evaluating->quality->on_text && most > options->batch;
    return is_more ? most : (size_t)options->batch;
}

static enum syn_status prepare(struct evaluating *evaluating,
                               const struct syn_train_options *options,
                               const struct syn_weights *weights)
{
    struct syn_quality *quality = evaluating->quality;
    SYN_TRY(syn_use_open(options, &evaluating->use));
    const struct syn_data_info *info = syn_data_info(evaluating->use.data);
    if (info->count[evaluating->part] == 0)
        return syn_report(SYN_INVALID, "data: %s has no such part", info->name);
    quality->on_text = info->kind == SYN_DATA_TOKENS;
    quality->classes = info->outputs;
    size_t batch = batch_of(evaluating);
    size_t time = quality->on_text ? (size_t)evaluating->use.options.time : 1;
    SYN_TRY(syn_use_build(&evaluating->use, weights, batch, time));
    SYN_TRY(copy_names(info, quality));
    if (!quality->on_text)
        SYN_TRY(syn_engine_allocate(quality->classes * quality->classes, sizeof(uint64_t),
                                    &quality->confusion));
    return syn_engine_allocate(batch * time * quality->classes, sizeof(float), &evaluating->scores);
}

enum syn_status syn_use_evaluate(const struct syn_train_options *options,
                                 const struct syn_weights *weights, enum syn_data_part part,
                                 struct syn_quality *quality)
{
    struct syn_quality made = {0};
    struct evaluating evaluating = {.part = part, .quality = &made};
    enum syn_status status = prepare(&evaluating, options, weights);
    if (status == SYN_OK)
        status = evaluate_all(&evaluating);
    free(evaluating.scores);
    syn_use_close(&evaluating.use);
    if (status != SYN_OK) {
        syn_quality_free(&made);
        return status;
    }
    *quality = made;
    return SYN_OK;
}

void syn_quality_free(struct syn_quality *quality)
{
    for (size_t i = 0; quality->names && i < quality->classes; i++)
        free(quality->names[i]);
    free(quality->names);
    free(quality->confusion);
}

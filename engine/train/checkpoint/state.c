/* The state of a run in an archive. Dropout masks and augmentation are functions of seed, step and
 * example, and the order of examples is a function of seed and epoch, so the position in the data
 * is the only state of random numbers. Everything else is the worker's state and arrays of the
 * model. */
#include <math.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "engine/base/clock.h"
#include "engine/base/fail.h"
#include "engine/base/memory.h"
#include "engine/train/checkpoint/parts.h"

#define VERSION      1
#define MOST_WORKERS 1000000
#define MOST_STEPS   1000000000000000
#define MOST_SECONDS 1e9

/* Sums from which metrics.jsonl and the summary are made; the section "train/meters". */
struct all_sums {
    struct syn_sums now;
    struct syn_sums last;
    struct syn_sums total;
    struct syn_sums test;
    struct syn_cost unreported; /* spent since the last line of metrics.jsonl */
};

static struct syn_checkpoint_head head_of(const struct syn_checkpoints *checkpoints)
{
    const struct syn_replica *replica = checkpoints->replica;
    const struct syn_metrics *metrics = checkpoints->metrics;
    const float *residual = syn_worker_residual(replica->update.worker);
    struct syn_checkpoint_head head = {
        .version = VERSION,
        .rank = replica->rank,
        .workers = replica->options.workers,
        .step = replica->at.step,
        .steps = replica->at.steps,
        .place = syn_position_place(&replica->at),
        .steps_per_epoch = replica->at.steps_per_epoch,
        .params = replica->params,
        .weights_hash = syn_replica_hash(replica),
        .evaluated_step = checkpoints->evaluation->step,
        .seconds = syn_metrics_seconds(metrics),
        .bytes_out = metrics->bytes_out,
        .bytes_in = metrics->bytes_in,
        .residual_norm = residual ? syn_gradient_norm(residual, replica->params) : -1,
    };
    snprintf(head.model, sizeof head.model, "%s", replica->options.model);
    snprintf(head.data, sizeof head.data, "%s", syn_data_info(replica->data)->name);
    snprintf(head.algo, sizeof head.algo, "%s", replica->options.algo);
    return head;
}

static bool ends(const char *text, size_t capacity)
{
    return memchr(text, '\0', capacity) != NULL;
}

/* Whether the numbers are plausible, so that arithmetic on them is safe. */
static bool is_sound(const struct syn_checkpoint_head *head)
{
    return head->workers > 0 && head->workers <= MOST_WORKERS && head->rank < head->workers &&
           head->steps_per_epoch > 0 && head->place <= MOST_STEPS && head->step <= MOST_STEPS &&
           head->seconds >= 0 && head->seconds <= MOST_SECONDS &&
           ends(head->model, sizeof head->model) && ends(head->data, sizeof head->data) &&
           ends(head->algo, sizeof head->algo);
}

enum syn_status syn_checkpoint_head(const struct syn_archive *archive, const char *origin,
                                    struct syn_checkpoint_head *head)
{
    struct syn_checkpoint_head read;
    struct syn_section section = {0};
    for (size_t i = 0; !section.name || strcmp(section.name, "train/head") != 0; i++) {
        section = syn_archive_section(archive, i);
        if (!section.name)
            return syn_report(SYN_FORMAT, "%s: an archive, but not of a training run", origin);
    }
    uint64_t version = 0;
    memcpy(&version, section.bytes, section.count < 8 ? section.count : 8);
    if (version != VERSION || section.count != sizeof read)
        return syn_report(SYN_FORMAT, "%s: checkpoint version %llu; expected %d", origin,
                          (unsigned long long)version, VERSION);
    memcpy(&read, section.bytes, sizeof read);
    if (!is_sound(&read))
        return syn_report(SYN_FORMAT, "%s: its head is inconsistent", origin);
    *head = read;
    return SYN_OK;
}

static enum syn_status add_floats(struct syn_archive *archive, const char *name,
                                  const float *values, size_t count)
{
    return syn_archive_add(archive, name, values, count * sizeof *values);
}

static size_t statistics_size(const struct syn_replica *replica)
{
    return syn_layout_size(syn_model_statistics_layout(replica->model));
}

static size_t carry_size(const struct syn_replica *replica)
{
    return syn_layout_size(syn_model_carry_layout(replica->model));
}

enum syn_status syn_checkpoint_pack(const struct syn_checkpoints *checkpoints,
                                    struct syn_archive *archive)
{
    const struct syn_replica *replica = checkpoints->replica;
    const struct syn_metrics *metrics = checkpoints->metrics;
    const struct syn_best *best = &checkpoints->evaluation->best;
    struct syn_checkpoint_head head = head_of(checkpoints);
    struct all_sums sums = {
        .now = metrics->now.sums,
        .last = metrics->last,
        .total = metrics->total,
        .test = checkpoints->evaluation->scores.test,
        .unreported = syn_metrics_unreported(metrics),
    };
    SYN_TRY(syn_archive_add(archive, "train/head", &head, sizeof head));
    SYN_TRY(syn_checkpoint_add_settings(&replica->options, archive));
    SYN_TRY(syn_archive_add(archive, "train/meters", &sums, sizeof sums));
    SYN_TRY(syn_archive_add(archive, "train/best", best, sizeof *best));
    SYN_TRY(syn_checkpoint_add_tensors(replica->model, archive));
    SYN_TRY(add_floats(archive, "train/weights", replica->weights, replica->params));
    SYN_TRY(add_floats(archive, "model/statistics", syn_model_statistics(replica->model),
                       statistics_size(replica)));
    SYN_TRY(add_floats(archive, "model/carry", syn_model_carry(replica->model, SYN_CARRY_TRAINING),
                       carry_size(replica)));
    return syn_worker_save(replica->update.worker, archive);
}

/* Version 0.2.0 did not write the fields for forgetting: its section ends where they begin. */
static enum syn_status copy_sums(const struct syn_archive *archive, struct all_sums *sums)
{
    struct syn_section section = {0};
    size_t without = offsetof(struct all_sums, unreported.forgotten);
    SYN_TRY(syn_archive_find(archive, "train/meters", &section));
    *sums = (struct all_sums){0};
    return syn_archive_copy(archive, "train/meters", sums,
                            section.count == without ? without : sizeof *sums);
}

static enum syn_status copy_floats(const struct syn_archive *archive, const char *name,
                                   float *values, size_t count)
{
    return syn_archive_copy(archive, name, values, count * sizeof *values);
}

/* The best evaluation so far; checkpoints of earlier versions have none. */
static void unpack_best(const struct syn_archive *archive, struct syn_best *best)
{
    struct syn_section section = {0};
    for (size_t i = 0; (section = syn_archive_section(archive, i)).name != NULL; i++)
        if (strcmp(section.name, "train/best") == 0 && section.count == sizeof *best)
            memcpy(best, section.bytes, sizeof *best);
}

/* What the first worker counts for all. */
static enum syn_status unpack_sums(struct syn_checkpoints *checkpoints,
                                   const struct syn_archive *archive, struct all_sums *sums)
{
    struct syn_checkpoint_head head;
    struct syn_metrics *metrics = checkpoints->metrics;
    struct syn_evaluation *evaluation = checkpoints->evaluation;
    SYN_TRY(syn_checkpoint_head(archive, "checkpoint", &head));
    SYN_TRY(copy_sums(archive, sums));
    metrics->now.sums = sums->now;
    metrics->last = sums->last;
    metrics->total = sums->total;
    metrics->now.saved = sums->unreported;
    metrics->bytes_out = head.bytes_out;
    metrics->bytes_in = head.bytes_in;
    metrics->began_ns = syn_engine_clock_ns() - (int64_t)(head.seconds * 1e9);
    evaluation->scores.test = sums->test;
    evaluation->step = head.evaluated_step;
    unpack_best(archive, &evaluation->best);
    return SYN_OK;
}

/* The cost of loading is not counted for any step. */
static enum syn_status settle(struct syn_checkpoints *checkpoints)
{
    struct syn_replica *replica = checkpoints->replica;
    SYN_TRY(syn_worker_settle(replica->update.worker, replica->global));
    checkpoints->metrics->now.before = syn_worker_total_cost(replica->update.worker);
    return SYN_OK;
}

enum syn_status syn_checkpoint_unpack(struct syn_checkpoints *checkpoints,
                                      const struct syn_archive *archive)
{
    struct all_sums sums;
    struct syn_replica *replica = checkpoints->replica;
    SYN_TRY(unpack_sums(checkpoints, archive, &sums));
    SYN_TRY(copy_floats(archive, "model/statistics", syn_model_statistics(replica->model),
                        statistics_size(replica)));
    SYN_TRY(copy_floats(archive, "model/carry", syn_model_carry(replica->model, SYN_CARRY_TRAINING),
                        carry_size(replica)));
    SYN_TRY(syn_worker_load(replica->update.worker, archive));
    SYN_TRY(settle(checkpoints));
    return copy_floats(archive, "train/weights", replica->weights, replica->params);
}

/* Add one worker's contribution to the mean.
 *   room  [statistics] */
static enum syn_status add_statistics(const struct syn_archive *archive, size_t count,
                                      const struct syn_replica *replica, float *room)
{
    size_t size = statistics_size(replica);
    float *mean = syn_model_statistics(replica->model);
    SYN_TRY(copy_floats(archive, "model/statistics", room, size));
    for (size_t i = 0; i < size; i++)
        mean[i] += room[i] / (float)count;
    return SYN_OK;
}

/* The mean of the running statistics, summed in the order of the ranks. */
static enum syn_status average_statistics(struct syn_replica *replica,
                                          struct syn_archive *const *archives, size_t count)
{
    float *room = NULL;
    size_t size = statistics_size(replica);
    float *mean = syn_model_statistics(replica->model);
    enum syn_status status = syn_engine_allocate(size, sizeof *room, &room);
    for (size_t i = 0; i < size; i++)
        mean[i] = 0;
    for (size_t w = 0; w < count && status == SYN_OK; w++)
        status = add_statistics(archives[w], count, replica, room);
    free(room);
    return status;
}

enum syn_status syn_checkpoint_unpack_regrouped(struct syn_checkpoints *checkpoints,
                                                struct syn_archive *const *archives, size_t count)
{
    struct all_sums sums;
    struct syn_replica *replica = checkpoints->replica;
    struct syn_sums *now = &checkpoints->metrics->now.sums;
    SYN_TRY(unpack_sums(checkpoints, archives[0], &sums));
    for (size_t w = 1; w < count; w++) {
        SYN_TRY(copy_sums(archives[w], &sums));
        syn_sums_join(now, &sums.now);
    }
    if (replica->rank > 0)
        *now = (struct syn_sums){.steps = now->steps, .lr = now->lr};
    SYN_TRY(average_statistics(replica, archives, count));
    syn_model_restart(replica->model, SYN_CARRY_TRAINING);
    SYN_TRY(syn_worker_load_regrouped(replica->update.worker,
                                      (const struct syn_archive *const *)archives, count));
    SYN_TRY(settle(checkpoints));
    memcpy(replica->weights, replica->global, replica->params * sizeof *replica->weights);
    return SYN_OK;
}

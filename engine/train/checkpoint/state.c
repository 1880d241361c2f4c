/* A run in an archive. Dropout masks and augmentation are functions of seed, step and example, and
 * the order of examples one of seed and epoch, so that the place in the data is all the state that
 * random numbers have. Everything else is the worker's own, and arrays of the model. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "engine/base/clock.h"
#include "engine/base/fail.h"
#include "engine/train/checkpoint/checkpoint.h"
#include "engine/train/loop/loop.h"
#include "engine/train/replica/gradient.h"

#define VERSION      1
#define MOST_WORKERS 1000000
#define MOST_STEPS   1000000000000000
#define MOST_SECONDS 1e9

/* Sums that metrics.jsonl and the summary are made of; the section "train/meters". */
struct meters {
    struct syn_meter lately;
    struct syn_meter last;
    struct syn_meter total;
    struct syn_meter judged;
    struct syn_cost unreported; /* spent since the last line of metrics.jsonl */
};

static struct syn_checkpoint_head head_of(const struct syn_run *run)
{
    const float *residual = syn_worker_residual(run->update.worker);
    struct syn_checkpoint_head head = {
        .version = VERSION,
        .rank = run->rank,
        .workers = run->options.workers,
        .step = run->step,
        .steps = run->steps,
        .place = syn_run_place(run),
        .steps_per_epoch = run->steps_per_epoch,
        .params = run->params,
        .weights_hash = syn_run_hash(run),
        .judged_step = run->judged_step,
        .seconds = (double)(syn_engine_clock_ns() - run->began_ns) * 1e-9,
        .bytes_out = run->bytes_out,
        .bytes_in = run->bytes_in,
        .residual_norm = residual ? syn_gradient_norm(residual, run->params) : -1,
    };
    snprintf(head.model, sizeof head.model, "%s", run->options.model);
    snprintf(head.data, sizeof head.data, "%s", run->options.data.data);
    snprintf(head.algo, sizeof head.algo, "%s", run->options.algo);
    return head;
}

static bool ends(const char *text, size_t capacity)
{
    return memchr(text, '\0', capacity) != NULL;
}

/* Numbers that arithmetic may rely on. */
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
        return syn_report(SYN_FORMAT, "%s: version %llu of a checkpoint; expected %d", origin,
                          (unsigned long long)version, VERSION);
    memcpy(&read, section.bytes, sizeof read);
    if (!is_sound(&read))
        return syn_report(SYN_FORMAT, "%s: its head contradicts itself", origin);
    *head = read;
    return SYN_OK;
}

static enum syn_status add_floats(struct syn_archive *archive, const char *name,
                                  const float *values, size_t count)
{
    return syn_archive_add(archive, name, values, count * sizeof *values);
}

static size_t statistics_size(const struct syn_run *run)
{
    return syn_layout_size(syn_model_statistics_layout(run->model));
}

static size_t carry_size(const struct syn_run *run)
{
    return syn_layout_size(syn_model_carry_layout(run->model));
}

enum syn_status syn_checkpoint_pack(struct syn_run *run, struct syn_archive *archive)
{
    struct syn_checkpoint_head head = head_of(run);
    struct meters meters = {
        .lately = run->lately,
        .last = run->last,
        .total = run->total,
        .judged = run->judged,
        .unreported = syn_run_unreported(run),
    };
    SYN_TRY(syn_archive_add(archive, "train/head", &head, sizeof head));
    SYN_TRY(syn_checkpoint_add_settings(&run->options, archive));
    SYN_TRY(syn_archive_add(archive, "train/meters", &meters, sizeof meters));
    SYN_TRY(syn_archive_add(archive, "train/best", &run->best, sizeof run->best));
    SYN_TRY(add_floats(archive, "train/weights", run->weights, run->params));
    SYN_TRY(add_floats(archive, "model/statistics", syn_model_statistics(run->model),
                       statistics_size(run)));
    SYN_TRY(add_floats(archive, "model/carry", syn_model_carry(run->model, SYN_CARRY_TRAINING),
                       carry_size(run)));
    return syn_worker_save(run->update.worker, archive);
}

static enum syn_status copy_floats(const struct syn_archive *archive, const char *name,
                                   float *values, size_t count)
{
    return syn_archive_copy(archive, name, values, count * sizeof *values);
}

/* Which is the best so far; runs of before there was one have none. */
static void unpack_best(struct syn_run *run, const struct syn_archive *archive)
{
    struct syn_section section = {0};
    for (size_t i = 0; (section = syn_archive_section(archive, i)).name != NULL; i++)
        if (strcmp(section.name, "train/best") == 0 && section.count == sizeof run->best)
            memcpy(&run->best, section.bytes, sizeof run->best);
}

/* What the first worker counts for all. */
static enum syn_status unpack_meters(struct syn_run *run, const struct syn_archive *archive,
                                     struct meters *meters)
{
    struct syn_checkpoint_head head;
    SYN_TRY(syn_checkpoint_head(archive, "checkpoint", &head));
    SYN_TRY(syn_archive_copy(archive, "train/meters", meters, sizeof *meters));
    run->lately = meters->lately;
    run->last = meters->last;
    run->total = meters->total;
    run->judged = meters->judged;
    run->judged_step = head.judged_step;
    unpack_best(run, archive);
    run->bytes_out = head.bytes_out;
    run->bytes_in = head.bytes_in;
    run->unreported = meters->unreported;
    run->began_ns = syn_engine_clock_ns() - (int64_t)(head.seconds * 1e9);
    return SYN_OK;
}

/* What loading costs is nobody's step. */
static enum syn_status settle(struct syn_run *run)
{
    SYN_TRY(syn_worker_settle(run->update.worker, run->global));
    run->cost_before = syn_worker_total_cost(run->update.worker);
    return SYN_OK;
}

enum syn_status syn_checkpoint_unpack(struct syn_run *run, const struct syn_archive *archive)
{
    struct meters meters;
    SYN_TRY(unpack_meters(run, archive, &meters));
    SYN_TRY(copy_floats(archive, "model/statistics", syn_model_statistics(run->model),
                        statistics_size(run)));
    SYN_TRY(copy_floats(archive, "model/carry", syn_model_carry(run->model, SYN_CARRY_TRAINING),
                        carry_size(run)));
    SYN_TRY(syn_worker_load(run->update.worker, archive));
    SYN_TRY(settle(run));
    return copy_floats(archive, "train/weights", run->weights, run->params);
}

/* The mean of the running statistics, summed in the order of the ranks. */
static enum syn_status average_statistics(struct syn_run *run, struct syn_archive *const *archives,
                                          size_t count)
{
    size_t size = statistics_size(run);
    float *mean = syn_model_statistics(run->model);
    for (size_t i = 0; i < size; i++)
        mean[i] = 0;
    for (size_t w = 0; w < count; w++) {
        SYN_TRY(copy_floats(archives[w], "model/statistics", run->statistics, size));
        for (size_t i = 0; i < size; i++)
            mean[i] += run->statistics[i] / (float)count;
    }
    return SYN_OK;
}

enum syn_status syn_checkpoint_unpack_regrouped(struct syn_run *run,
                                                struct syn_archive *const *archives, size_t count)
{
    struct meters meters;
    SYN_TRY(unpack_meters(run, archives[0], &meters));
    for (size_t w = 1; w < count; w++) {
        SYN_TRY(syn_archive_copy(archives[w], "train/meters", &meters, sizeof meters));
        syn_meter_join(&run->lately, &meters.lately);
    }
    if (run->rank > 0)
        run->lately = (struct syn_meter){.steps = run->lately.steps, .lr = run->lately.lr};
    SYN_TRY(average_statistics(run, archives, count));
    syn_model_restart(run->model, SYN_CARRY_TRAINING);
    SYN_TRY(syn_worker_load_regrouped(run->update.worker,
                                      (const struct syn_archive *const *)archives, count));
    SYN_TRY(settle(run));
    memcpy(run->weights, run->global, run->params * sizeof *run->weights);
    return SYN_OK;
}

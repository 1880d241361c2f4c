/* The weights of a run, from the states of all its workers. They are the ones that the run has
 * evaluated: the global weights, wherever the method keeps them, and the mean of the workers'
 * statistics, summed in the order of the ranks as in an evaluation. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <syncopate/engine/weights.h>

#include "engine/base/fail.h"
#include "engine/base/memory.h"
#include "engine/base/path.h"
#include "engine/train/checkpoint/parts.h"
#include "engine/weights/weights.h"

struct reading {
    const char *directory;
    bool is_gone;                     /* a part is not there, which has not been reported */
    char gone[SYN_CHECKPOINT_PATH];   /* that part */
    char origin[SYN_CHECKPOINT_PATH]; /* of worker 0's part */
    struct syn_checkpoint_head head;
    struct syn_archive **parts; /* [head.workers] */
    float *values;              /* [params] */
    size_t at;                  /* of the next tensor in values */
    float *statistics;
    size_t statistics_count;
    size_t statistics_at;
    struct syn_weights *weights;
};

static enum syn_status lack(struct reading *reading, const char *path)
{
    reading->is_gone = true;
    snprintf(reading->gone, sizeof reading->gone, "%s", path);
    return SYN_INVALID;
}

static enum syn_status load_part(struct reading *reading, uint64_t step, size_t rank)
{
    char path[SYN_CHECKPOINT_PATH];
    struct syn_checkpoint_head head;
    SYN_TRY(syn_checkpoint_path(reading->directory, step, rank, path));
    SYN_TRY(syn_checkpoint_load_part(path, &reading->parts[rank]));
    if (!reading->parts[rank])
        return lack(reading, path);
    SYN_TRY(syn_checkpoint_head(reading->parts[rank], path, &head));
    if (rank == 0)
        reading->head = head;
    if (head.step == step && head.rank == rank && head.workers == reading->head.workers &&
        head.weights_hash == reading->head.weights_hash)
        return SYN_OK;
    return syn_report(SYN_FORMAT, "%s: not from the same checkpoint as worker 0's", path);
}

static enum syn_status load_parts(struct reading *reading, uint64_t step)
{
    struct syn_archive **grown;
    reading->head.workers = 1;
    for (size_t rank = 0; rank < reading->head.workers; rank++) {
        grown = realloc(reading->parts, (rank + 1) * sizeof *grown);
        if (!grown)
            return syn_report(SYN_MEMORY, "cannot allocate %zu archives", rank + 1);
        reading->parts = grown;
        reading->parts[rank] = NULL;
        enum syn_status status = load_part(reading, step, rank);
        if (status != SYN_OK) {
            reading->head.workers = rank + 1; /* how many have to be freed */
            return status;
        }
    }
    return SYN_OK;
}

static enum syn_status read_values(struct reading *reading)
{
    size_t params = (size_t)reading->head.params;
    if (params > UINT32_MAX)
        return syn_report(SYN_FORMAT, "%s: %zu parameters", reading->origin, params);
    SYN_TRY(syn_engine_allocate(params, sizeof(float), &reading->values));
    SYN_TRY(syn_worker_saved_weights((const struct syn_archive *const *)reading->parts,
                                     (size_t)reading->head.workers, params, reading->values));
    if (syn_weights_hash(reading->values, params) == reading->head.weights_hash)
        return SYN_OK;
    return syn_report(SYN_FORMAT, "%s: its weights do not match its header", reading->origin);
}

static enum syn_status read_statistics(struct reading *reading)
{
    size_t workers = (size_t)reading->head.workers;
    struct syn_section section = {0};
    SYN_TRY(syn_archive_find(reading->parts[0], "model/statistics", &section));
    size_t count = section.count / sizeof(float);
    float *one = NULL;
    SYN_TRY(syn_engine_allocate(count, sizeof(float), &reading->statistics));
    SYN_TRY(syn_engine_allocate(count, sizeof(float), &one));
    enum syn_status status = SYN_OK;
    for (size_t w = 0; w < workers && status == SYN_OK; w++) {
        status = syn_archive_copy(reading->parts[w], "model/statistics", one, count * sizeof *one);
        for (size_t i = 0; i < count && status == SYN_OK; i++)
            reading->statistics[i] += one[i];
    }
    free(one);
    for (size_t i = 0; i < count; i++)
        reading->statistics[i] /= (float)workers;
    reading->statistics_count = count;
    return status;
}

static enum syn_status add(void *context, const struct syn_checkpoint_tensor *tensor,
                           bool is_statistic)
{
    struct reading *reading = context;
    size_t *at = is_statistic ? &reading->statistics_at : &reading->at;
    size_t size = is_statistic ? reading->statistics_count : (size_t)reading->head.params;
    size_t room = size - *at;
    size_t count = 1;
    for (size_t d = 0; d < tensor->shape.dimensions; d++) {
        if (tensor->shape.size[d] > 0 && count > room / tensor->shape.size[d])
            return syn_report(SYN_FORMAT, "%s: more tensors than parameters", reading->origin);
        count *= tensor->shape.size[d];
    }
    const float *values = is_statistic ? reading->statistics : reading->values;
    SYN_TRY(syn_weights_add(reading->weights, tensor->name, &tensor->shape, values + *at));
    *at += count;
    return SYN_OK;
}

static enum syn_status read_all(struct reading *reading, uint64_t step)
{
    SYN_TRY(syn_checkpoint_path(reading->directory, step, 0, reading->origin));
    SYN_TRY(load_parts(reading, step));
    SYN_TRY(read_values(reading));
    SYN_TRY(read_statistics(reading));
    SYN_TRY(syn_weights_new(&reading->weights));
    struct syn_weights_info *info = syn_weights_info(reading->weights);
    const struct syn_checkpoint_head *head = &reading->head;
    memcpy(info->model, head->model, sizeof info->model);
    memcpy(info->data, head->data, sizeof info->data);
    memcpy(info->algo, head->algo, sizeof info->algo);
    info->step = head->step;
    info->steps = head->steps;
    info->epoch = (double)head->place / (double)head->steps_per_epoch;
    syn_weights_set_origin(reading->weights, reading->directory);
    SYN_TRY(syn_checkpoint_read_tensors(reading->parts[0], reading->origin, &info->input, add,
                                        reading));
    if (reading->at == head->params && reading->statistics_at == reading->statistics_count)
        return SYN_OK;
    return syn_report(SYN_FORMAT, "%s: fewer tensors than parameters", reading->origin);
}

/* The step of the best evaluation, as recorded in the latest checkpoint. */
static enum syn_status find_best(struct reading *reading, uint64_t latest, uint64_t *step)
{
    struct syn_best best = {0};
    struct syn_archive *archive = NULL;
    char path[SYN_CHECKPOINT_PATH];
    SYN_TRY(syn_checkpoint_load_any(reading->directory, latest, path, &archive));
    if (!archive)
        return lack(reading, path);
    enum syn_status status = syn_archive_copy(archive, "train/best", &best, sizeof best);
    syn_archive_free(archive);
    SYN_TRY(status);
    if (best.step == 0)
        return syn_report(SYN_INVALID,
                          "%s: no checkpoint of the best evaluation; for images, train "
                          "with --keep-best",
                          reading->directory);
    *step = best.step;
    return SYN_OK;
}

static enum syn_status read_which(struct reading *reading, enum syn_weights_which which,
                                  uint64_t latest)
{
    uint64_t step = latest;
    if (which == SYN_WEIGHTS_BEST)
        SYN_TRY(find_best(reading, latest, &step));
    return read_all(reading, step);
}

static void free_reading(struct reading *reading)
{
    for (size_t w = 0; reading->parts && w < reading->head.workers; w++)
        syn_archive_free(reading->parts[w]);
    free(reading->parts);
    free(reading->values);
    free(reading->statistics);
}

static enum syn_status refuse_empty(const char *directory)
{
    if (!syn_path_is_directory(directory))
        return syn_report(SYN_INVALID, "%.256s does not exist; expected the directory of a run",
                          directory);
    SYN_TRY(syn_lock_check(directory, "has not written a checkpoint yet"));
    return syn_report(SYN_INVALID,
                      "%.256s: contains no checkpoint, so there are no weights; a run writes one "
                      "when it ends, and every --checkpoint-every steps",
                      directory);
}

enum syn_status syn_weights_of_run(const char *directory, enum syn_weights_which which,
                                   struct syn_weights **weights)
{
    uint64_t steps[SYN_CHECKPOINTS_MOST];
    for (int tries = 1;; tries++) {
        struct reading reading = {.directory = directory};
        if (syn_checkpoint_list(directory, steps) == 0)
            return refuse_empty(directory);
        enum syn_status status = read_which(&reading, which, steps[0]);
        free_reading(&reading);
        if (status == SYN_OK) {
            *weights = reading.weights;
            return SYN_OK;
        }
        syn_weights_free(reading.weights);
        if (!reading.is_gone)
            return status;
        if (tries == SYN_CHECKPOINT_TRIES || !syn_checkpoint_has_moved(directory, steps[0]))
            return syn_report(SYN_INVALID,
                              "%s is missing; if workers have separate file systems, copy their "
                              "states into one folder first",
                              reading.gone);
    }
}

enum syn_status syn_weights_open(const char *path, struct syn_weights **weights)
{
    return syn_path_is_directory(path) ? syn_weights_of_run(path, SYN_WEIGHTS_LAST, weights)
                                       : syn_weights_load(path, weights);
}

/* Resuming a run. Each worker checks which checkpoints it could use: with the same number of
 * workers as before it needs only its own part, otherwise all parts. Then they agree on the latest
 * that all have; so a checkpoint that is damaged on one worker's disk is skipped by all. */
#include <inttypes.h>
#include <stdlib.h>

#include "engine/base/fail.h"
#include "engine/base/path.h"
#include "engine/train/checkpoint/parts.h"

/* Load one part and check that it belongs to the run. */
static enum syn_status load_part(const struct syn_replica *replica, uint64_t step, size_t rank,
                                 struct syn_archive **archive, struct syn_checkpoint_head *head)
{
    char path[SYN_CHECKPOINT_PATH];
    struct syn_archive *loaded = NULL;
    SYN_TRY(syn_checkpoint_path(replica->options.resume, step, rank, path));
    SYN_TRY(syn_archive_load(path, &loaded));
    enum syn_status status = syn_checkpoint_head(loaded, path, head);
    if (status == SYN_OK && (head->step != step || head->rank != rank))
        status =
            syn_report(SYN_FORMAT, "%s: contains the state of worker %" PRIu64 " at step %" PRIu64,
                       path, head->rank, head->step);
    if (status == SYN_OK && head->params != replica->params)
        status = syn_report(SYN_FORMAT, "%s: %" PRIu64 " parameters; the model has %zu", path,
                            head->params, replica->params);
    if (status == SYN_OK)
        status = syn_checkpoint_check_tensors(loaded, path, replica->model);
    if (status != SYN_OK) {
        syn_archive_free(loaded);
        return status;
    }
    *archive = loaded;
    return SYN_OK;
}

static void free_parts(struct syn_archive **parts, size_t count)
{
    for (size_t w = 0; parts && w < count; w++)
        syn_archive_free(parts[w]);
    free(parts);
}

/* Load all parts of a checkpoint. */
static enum syn_status load_parts(const struct syn_replica *replica,
                                  const struct syn_checkpoint_head *first,
                                  struct syn_archive ***parts)
{
    size_t count = (size_t)first->workers;
    struct syn_archive **loaded = calloc(count, sizeof *loaded);
    enum syn_status status =
        loaded ? SYN_OK : syn_report(SYN_MEMORY, "cannot allocate %zu archives", count);
    for (size_t w = 0; w < count && status == SYN_OK; w++) {
        struct syn_checkpoint_head head;
        status = load_part(replica, first->step, w, &loaded[w], &head);
        if (status == SYN_OK && (head.weights_hash != first->weights_hash || head.workers != count))
            status = syn_report(SYN_FORMAT,
                                "%s: the states of workers 0 and %zu are from different runs",
                                replica->options.resume, w);
    }
    if (status != SYN_OK) {
        free_parts(loaded, count);
        return status;
    }
    *parts = loaded;
    return SYN_OK;
}

/* Whether this worker could resume from that checkpoint. */
static enum syn_status examine(const struct syn_replica *replica, uint64_t step,
                               struct syn_checkpoint_head *head)
{
    struct syn_archive *archive = NULL;
    struct syn_archive **parts = NULL;
    char path[SYN_CHECKPOINT_PATH];
    SYN_TRY(syn_checkpoint_path(replica->options.resume, step, replica->rank, path));
    if (!syn_path_is_file(path))
        SYN_TRY(syn_checkpoint_find_part(replica->options.resume, step, path));
    SYN_TRY(syn_archive_load(path, &archive));
    enum syn_status status = syn_checkpoint_head(archive, path, head);
    if (status == SYN_OK)
        status = syn_checkpoint_check_settings(archive, &replica->options);
    syn_archive_free(archive);
    SYN_TRY(status);
    if (head->workers == replica->options.workers) {
        SYN_TRY(load_part(replica, step, replica->rank, &archive, head));
        syn_archive_free(archive);
        return SYN_OK;
    }
    SYN_TRY(load_parts(replica, head, &parts));
    free_parts(parts, (size_t)head->workers);
    return SYN_OK;
}

enum syn_status syn_resume_survey(struct syn_checkpoints *checkpoints)
{
    struct syn_replica *replica = checkpoints->replica;
    uint64_t steps[SYN_CHECKPOINTS_MOST];
    const char *directory = replica->options.resume;
    size_t count = syn_checkpoint_list(directory, steps);
    for (size_t i = 0; i < count && checkpoints->offer_count < SYN_OFFERS; i++) {
        enum syn_status status =
            examine(replica, steps[i], &checkpoints->offers[checkpoints->offer_count]);
        if (status == SYN_OK)
            checkpoints->offer_count++;
        else if (status == SYN_INVALID || status == SYN_MEMORY)
            return status;
        else
            syn_report_log(SYN_LOG_WARNING,
                           "%s/%s/step-%" PRIu64 " cannot be used; trying the one before it",
                           directory, SYN_CHECKPOINT_FOLDER, steps[i]);
    }
    if (checkpoints->offer_count > 0)
        return SYN_OK;
    return syn_report(SYN_INVALID, "resume: no usable checkpoint in %s/%s", directory,
                      SYN_CHECKPOINT_FOLDER);
}

/* What a worker has to offer, the latest first; zeros after the last. */
struct offer {
    uint64_t count;
    uint64_t steps[SYN_OFFERS];
    uint64_t hashes[SYN_OFFERS];
};

static bool has(const struct offer *offer, uint64_t step, uint64_t hash)
{
    for (uint64_t i = 0; i < offer->count; i++)
        if (offer->steps[i] == step && offer->hashes[i] == hash)
            return true;
    return false;
}

/* The latest of this worker's checkpoints that everyone has. */
static enum syn_status choose(struct syn_checkpoints *checkpoints, const struct offer *all)
{
    struct syn_replica *replica = checkpoints->replica;
    for (size_t i = 0; i < checkpoints->offer_count; i++) {
        const struct syn_checkpoint_head *head = &checkpoints->offers[i];
        size_t w = 0;
        while (w < replica->options.workers && has(&all[w], head->step, head->weights_hash))
            w++;
        if (w == replica->options.workers) {
            checkpoints->from = *head;
            return SYN_OK;
        }
    }
    return syn_report(SYN_FORMAT, "resume: the workers have no checkpoint of %s in common",
                      replica->options.resume);
}

/* The position of the run with this number of workers: in the same epoch, with no example left out;
 * up to one step's examples may be repeated. */
static uint64_t place_now(const struct syn_checkpoints *checkpoints)
{
    struct syn_replica *replica = checkpoints->replica;
    const struct syn_checkpoint_head *from = &checkpoints->from;
    if (from->workers == replica->options.workers)
        return from->place;
    uint64_t epoch = from->place / from->steps_per_epoch;
    uint64_t index = from->place % from->steps_per_epoch * from->workers / replica->options.workers;
    uint64_t last = replica->at.steps_per_epoch - 1;
    return epoch * replica->at.steps_per_epoch + (index < last ? index : last);
}

/* The learning rate continues from where it was, even if the run is longer now. */
static void fit_schedule(struct syn_checkpoints *checkpoints)
{
    struct syn_replica *replica = checkpoints->replica;
    const struct syn_checkpoint_head *from = &checkpoints->from;
    char text[SYN_TEXT_BYTES];
    uint64_t places = from->steps + from->place - from->step;
    struct syn_length_place before = {from->place, {places, from->steps_per_epoch}};
    struct syn_length_place now = {syn_position_place(&replica->at),
                                   syn_position_length(&replica->at)};
    syn_length_change(before, now, &replica->options, text, sizeof text);
    if (text[0] && replica->rank == 0)
        syn_report_log(SYN_LOG_WARNING, "%s", text);
}

static enum syn_status set_out(struct syn_checkpoints *checkpoints)
{
    struct syn_replica *replica = checkpoints->replica;
    const struct syn_checkpoint_head *from = &checkpoints->from;
    bool is_regrouped = from->workers != replica->options.workers;
    if (!is_regrouped && from->steps_per_epoch != replica->at.steps_per_epoch)
        return syn_report(SYN_FORMAT,
                          "resume: an epoch had %" PRIu64 " batches and now has %" PRIu64
                          "; the data have changed",
                          from->steps_per_epoch, replica->at.steps_per_epoch);
    replica->at.step = from->step;
    replica->at.ahead = (int64_t)place_now(checkpoints) - (int64_t)from->step;
    if (replica->options.steps == 0)
        replica->at.steps = (uint64_t)((int64_t)replica->at.steps - replica->at.ahead);
    if ((int64_t)replica->at.steps < (int64_t)replica->at.step)
        return syn_report(SYN_INVALID,
                          "resume: %" PRIu64 " steps are already done; only %" PRId64
                          " were requested",
                          replica->at.step, (int64_t)replica->at.steps);
    replica->options.worker.run_steps = replica->at.steps;
    fit_schedule(checkpoints);
    return SYN_OK;
}

enum syn_status syn_resume_agree(struct syn_checkpoints *checkpoints)
{
    struct syn_replica *replica = checkpoints->replica;
    struct offer own = {.count = checkpoints->offer_count};
    for (size_t i = 0; i < checkpoints->offer_count; i++) {
        own.steps[i] = checkpoints->offers[i].step;
        own.hashes[i] = checkpoints->offers[i].weights_hash;
    }
    struct offer *all = calloc((size_t)replica->options.workers, sizeof *all);
    if (!all)
        return syn_report(SYN_MEMORY, "cannot allocate room for what the workers offer");
    enum syn_status status = syn_gather(replica->group, &own, sizeof own, all);
    if (status == SYN_OK)
        status = choose(checkpoints, all);
    free(all);
    return status == SYN_OK ? set_out(checkpoints) : status;
}

static enum syn_status load_alone(struct syn_checkpoints *checkpoints)
{
    struct syn_replica *replica = checkpoints->replica;
    struct syn_archive *archive = NULL;
    struct syn_checkpoint_head head;
    SYN_TRY(load_part(replica, checkpoints->from.step, replica->rank, &archive, &head));
    enum syn_status status = syn_checkpoint_unpack(checkpoints, archive);
    syn_archive_free(archive);
    return status;
}

static enum syn_status load_regrouped(struct syn_checkpoints *checkpoints)
{
    struct syn_replica *replica = checkpoints->replica;
    struct syn_archive **parts = NULL;
    size_t count = (size_t)checkpoints->from.workers;
    SYN_TRY(load_parts(replica, &checkpoints->from, &parts));
    enum syn_status status = syn_checkpoint_unpack_regrouped(checkpoints, parts, count);
    free_parts(parts, count);
    return status;
}

static void log_resume(const struct syn_checkpoints *checkpoints)
{
    struct syn_replica *replica = checkpoints->replica;
    syn_report_log(SYN_LOG_INFO, "resuming %s from step %" PRIu64, replica->options.resume,
                   replica->at.step);
    if (checkpoints->from.workers != replica->options.workers)
        syn_report_log(
            SYN_LOG_INFO,
            "%" PRIu64 " workers instead of %" PRIu64
            ": residuals are redistributed, keeping their sum over the number of workers",
            replica->options.workers, checkpoints->from.workers);
}

enum syn_status syn_resume_load(struct syn_checkpoints *checkpoints)
{
    struct syn_replica *replica = checkpoints->replica;
    uint64_t batch = syn_position_place(&replica->at) * replica->options.accumulate;
    uint64_t batches = syn_loader_batches(replica->batches);
    struct syn_loader_position position = {batch / batches, batch % batches};
    bool is_regrouped = checkpoints->from.workers != replica->options.workers;
    SYN_TRY(is_regrouped ? load_regrouped(checkpoints) : load_alone(checkpoints));
    if (syn_replica_hash(replica) != checkpoints->from.weights_hash)
        return syn_report(SYN_FORMAT,
                          "resume: the weights at step %" PRIu64 " differ from those saved",
                          replica->at.step);
    if (syn_files_continue(&replica->options))
        checkpoints->saved = replica->at.step; /* by however many workers */
    if (replica->rank == 0)
        log_resume(checkpoints);
    return syn_loader_seek(replica->batches, position);
}

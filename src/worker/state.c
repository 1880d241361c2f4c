/* A worker's state in an archive. The store has its own sections; these are the worker's: a head,
 * and those of its arrays that exist. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/status.h"
#include "reducer/lag.h"
#include "worker/inside.h"

struct head {
    uint64_t layout_size;
    uint64_t rank;
    uint64_t workers;
    uint64_t steps;
    uint64_t compared;
    uint64_t snapshot_steps[2];
    uint32_t snapshot_count;
    uint16_t is_pull_open;
    uint16_t is_mean_stale;
    char store[16];
    char schedule[16];
    char local[16];
};

static struct head head_of(const struct syn_worker *worker)
{
    struct head head = {
        .layout_size = worker->size,
        .rank = syn_group_rank(worker->group),
        .workers = syn_group_workers(worker->group),
        .steps = worker->steps,
        .compared = worker->compared,
        .snapshot_steps = {worker->snapshot_steps[0], worker->snapshot_steps[1]},
        .snapshot_count = (uint32_t)worker->snapshot_count,
        .is_pull_open = worker->is_pull_open,
        .is_mean_stale = worker->is_mean_stale,
    };
    strncpy(head.store, worker->options.store, sizeof head.store - 1);
    strncpy(head.schedule, worker->options.schedule, sizeof head.schedule - 1);
    strncpy(head.local, worker->options.optimizer_local, sizeof head.local - 1);
    return head;
}

/* The paths of the global weights between and since the last snapshots; for a delayed worker. */
struct paths {
    struct syn_local_path between;
    struct syn_local_path since;
};

/* The worker's arrays by name; NULL if it does not have them. */
struct array {
    const char *name;
    float *floats;
};

#define ARRAYS 5

static void list_arrays(const struct syn_worker *worker, struct array arrays[ARRAYS])
{
    arrays[0] = (struct array){"worker/v", worker->v};
    arrays[1] = (struct array){"worker/memory", worker->memory};
    arrays[2] = (struct array){"worker/snapshot0", worker->snapshots[0]};
    arrays[3] = (struct array){"worker/snapshot1", worker->snapshots[1]};
    arrays[4] = (struct array){"worker/global_mean", worker->global_mean};
}

enum syn_status syn_worker_save(struct syn_worker *worker, struct syn_archive *archive)
{
    struct array arrays[ARRAYS];
    SYN_TRY(syn_worker_recover(worker, syn_worker_collect(worker, 0), NULL));
    SYN_TRY(syn_fitting_save(worker, archive));
    struct head head = head_of(worker);
    SYN_TRY(syn_archive_add(archive, "worker/head", &head, sizeof head));
    struct paths paths = {worker->between, worker->since};
    if (worker->v)
        SYN_TRY(syn_archive_add(archive, "worker/paths", &paths, sizeof paths));
    list_arrays(worker, arrays);
    for (int i = 0; i < ARRAYS; i++)
        if (arrays[i].floats)
            SYN_TRY(syn_archive_add(archive, arrays[i].name, arrays[i].floats,
                                    worker->size * sizeof(float)));
    if (worker->inner)
        SYN_TRY(syn_inner_save(worker->inner, archive));
    if (worker->trained)
        SYN_TRY(syn_trained_save(worker->trained, archive));
    syn_reducer_settle(worker->reducer);
    SYN_TRY(syn_reducer_archive(worker->reducer, archive));
    return worker->store_type->save(worker->store, archive);
}

/* Check what must be the same in the saved run and in this one. */
static enum syn_status check_head(const struct syn_worker *worker, const struct head *head)
{
    struct head own = head_of(worker);
    if (head->layout_size != own.layout_size)
        return syn_fail(SYN_MISMATCH, "saved with %llu parameters, opened with %llu",
                        (unsigned long long)head->layout_size, (unsigned long long)own.layout_size);
    if (memcmp(head->store, own.store, sizeof own.store) != 0 ||
        memcmp(head->schedule, own.schedule, sizeof own.schedule) != 0 ||
        memcmp(head->local, own.local, sizeof own.local) != 0)
        return syn_fail(
            SYN_MISMATCH,
            "saved with store %.15s, schedule %.15s, optimizer-local %.15s; opened with "
            "%s, %s, %s",
            head->store, head->schedule, head->local, own.store, own.schedule, own.local);
    if (worker->steps > 0)
        return syn_fail(SYN_INVALID, "%llu steps were made before loading",
                        (unsigned long long)worker->steps);
    return SYN_OK;
}

static bool is_path(const struct syn_local_path *path)
{
    return isfinite(path->length) && isfinite(path->decay) && isfinite(path->reached) &&
           isfinite(path->covered);
}

/* Runs saved by versions that did not keep these learning rates cannot be continued exactly. */
static enum syn_status load_paths(struct syn_worker *worker, const struct syn_archive *archive)
{
    struct paths paths = {0};
    struct syn_section section = {0};
    if (syn_archive_find(archive, "worker/paths", &section) != SYN_OK)
        return syn_fail(SYN_FORMAT,
                        "saved by a version that did not keep the learning rates since the last "
                        "pull (no section \"worker/paths\"): schedule %s cannot continue from it",
                        worker->options.schedule);
    SYN_TRY(syn_archive_copy(archive, "worker/paths", &paths, sizeof paths));
    if (!is_path(&paths.between) || !is_path(&paths.since))
        return syn_fail(SYN_FORMAT, "section \"worker/paths\" has a value that is not finite");
    worker->between = paths.between;
    worker->since = paths.since;
    return SYN_OK;
}

enum syn_status syn_worker_load(struct syn_worker *worker, const struct syn_archive *archive)
{
    struct head head = {0};
    struct array arrays[ARRAYS];
    SYN_TRY(syn_archive_copy(archive, "worker/head", &head, sizeof head));
    SYN_TRY(check_head(worker, &head));
    struct head own = head_of(worker);
    if (head.rank != own.rank || head.workers != own.workers)
        return syn_fail(SYN_MISMATCH, "saved by worker %llu of %llu, opened as worker %llu of %llu",
                        (unsigned long long)head.rank, (unsigned long long)head.workers,
                        (unsigned long long)own.rank, (unsigned long long)own.workers);
    if (worker->v)
        SYN_TRY(load_paths(worker, archive));
    if (worker->inner)
        SYN_TRY(syn_inner_load(worker->inner, archive));
    if (worker->trained)
        SYN_TRY(syn_trained_load(worker->trained, archive));
    SYN_TRY(syn_fitting_load(worker, archive));
    SYN_TRY(syn_reducer_unarchive(worker->reducer, archive));
    SYN_TRY(worker->store_type->load(worker->store, archive));
    list_arrays(worker, arrays);
    for (int i = 0; i < ARRAYS; i++)
        if (arrays[i].floats)
            SYN_TRY(syn_archive_copy(archive, arrays[i].name, arrays[i].floats,
                                     worker->size * sizeof(float)));
    worker->steps = head.steps;
    worker->compared = head.compared;
    worker->snapshot_steps[0] = head.snapshot_steps[0];
    worker->snapshot_steps[1] = head.snapshot_steps[1];
    worker->snapshot_count = head.snapshot_count > 2 ? 2 : head.snapshot_count;
    worker->is_pull_open = head.is_pull_open != 0;
    worker->is_mean_stale = head.is_mean_stale != 0;
    return SYN_OK;
}

enum syn_status syn_worker_load_regrouped(struct syn_worker *worker,
                                          const struct syn_archive *const *archives, size_t count)
{
    struct head head = {0};
    for (size_t i = 0; i < count; i++) {
        SYN_TRY(syn_archive_copy(archives[i], "worker/head", &head, sizeof head));
        SYN_TRY(check_head(worker, &head));
        if (head.rank != i || head.workers != count)
            return syn_fail(SYN_MISMATCH, "state %zu of %zu was saved by worker %llu of %llu", i,
                            count, (unsigned long long)head.rank, (unsigned long long)head.workers);
    }
    if (count == 0)
        return syn_fail(SYN_INVALID, "no states to continue from");
    SYN_TRY(syn_reducer_unarchive_regrouped(worker->reducer, archives, count));
    SYN_TRY(syn_fitting_load(worker, archives[0]));
    if (worker->trained)
        SYN_TRY(syn_trained_load(worker->trained, archives[0]));
    float *weights = malloc((worker->size + 1) * sizeof *weights);
    if (!weights)
        return syn_fail(SYN_MEMORY, "cannot allocate %zu weights", worker->size);
    enum syn_status status =
        worker->store_type->load_regrouped(worker->store, archives, count, weights);
    if (status == SYN_OK && syn_worker_is_late(worker))
        syn_worker_restart(worker, weights, head.steps);
    if (status == SYN_OK && worker->inner)
        status =
            syn_inner_load_memory(worker->inner, archives[syn_group_rank(worker->group) % count]);
    free(weights);
    worker->steps = head.steps;
    worker->compared = head.compared;
    return status;
}

enum syn_status syn_worker_saved_weights(const struct syn_archive *const *archives, size_t count,
                                         size_t size, float *weights)
{
    struct head head = {0};
    for (size_t i = 0; i < count; i++) {
        SYN_TRY(syn_archive_copy(archives[i], "worker/head", &head, sizeof head));
        if (head.layout_size != size || head.rank != i || head.workers != count)
            return syn_fail(SYN_FORMAT,
                            "state %zu of %zu: worker %llu of %llu with %llu parameters; expected "
                            "%zu",
                            i, count, (unsigned long long)head.rank,
                            (unsigned long long)head.workers, (unsigned long long)head.layout_size,
                            size);
    }
    head.store[sizeof head.store - 1] = '\0';
    const struct syn_store_type *store = count > 0 ? syn_store_find(head.store) : NULL;
    if (!store)
        return syn_fail(SYN_FORMAT, "saved with unknown store \"%s\"", head.store);
    if (store->saved)
        return store->saved(archives, count, size, weights);
    return syn_archive_copy(archives[0], "store/weights", weights, size * sizeof *weights);
}

/* The worker from inside: what its files share. */
#ifndef SYN_WORKER_INSIDE_H
#define SYN_WORKER_INSIDE_H

#include <syncopate/worker.h>

#include "optim/local.h"
#include "schedule/schedule.h"
#include "worker/errand.h"
#include "worker/store.h"

struct syn_worker {
    struct syn_worker_options options; /* resolved */
    double momentum;                   /* the effective one */
    struct syn_group *group;
    const struct syn_store_type *store_type;
    void *store;
    const struct syn_schedule_type *schedule;
    const struct syn_local_type *local;
    size_t size;
    float *v;            /* [size] delayed: the worker's own weights */
    float *memory;       /* [size] of the local update, or NULL */
    float *snapshots[2]; /* [size] the weights pulled last and the time before, or NULL */
    float *global_mean;  /* [size] read back from them, or NULL */
    uint64_t snapshot_steps[2];
    size_t snapshot_count;
    bool is_mean_stale;            /* a snapshot has come since it was read back */
    struct syn_local_path between; /* the last two snapshots */
    struct syn_local_path since;   /* the last one */
    bool is_pull_open;
    uint64_t steps;
    uint64_t compared; /* the step of the last comparison */
    struct syn_errand told;
    bool is_telling; /* it has not been heard yet */
    struct syn_cost last;
    struct syn_cost total;
};

/* Begin anew from global weights, as they are after `steps` steps: no memory, one snapshot. */
void syn_worker_begin_anew(struct syn_worker *worker, const float *weights, uint64_t steps);

/* After a failure of the store's: if that is SYN_NONFINITE and there is a delay, begin anew from
 * the global weights, as all workers do.
 *   weights  [size] written then; or NULL
 * Returns that status, or why it cannot go on. Collective. */
enum syn_status syn_worker_recover(struct syn_worker *worker, enum syn_status status,
                                   float *weights);

#endif

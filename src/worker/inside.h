/* The worker from inside: what its files share. */
#ifndef SYN_WORKER_INSIDE_H
#define SYN_WORKER_INSIDE_H

#include <syncopate/worker.h>

#include "optim/local.h"
#include "schedule/schedule.h"
#include "worker/collective.h"
#include "worker/fitting.h"
#include "worker/inner.h"
#include "worker/store.h"

struct syn_worker {
    struct syn_worker_options options; /* resolved */
    double momentum;                   /* the effective one */
    struct syn_group *group;
    const struct syn_store_type *store_type;
    void *store;
    struct syn_reducer *reducer;
    double longest;       /* gradient that is not clipped before it is sent; 0: any */
    bool is_announced;    /* the next gradient leaves tensor by tensor */
    struct syn_cost cost; /* since the last step */
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
    struct syn_gathering gathering;
    bool is_gathering;           /* it is under way */
    struct syn_inner *inner;     /* rounds of own steps (schedule local), or NULL */
    struct syn_fitting *fitting; /* NULL unless the density is left open */
    struct syn_form form;        /* of the last step */
    struct syn_cost last;
    struct syn_cost total;
};

/* Start again from global weights, as they are after `steps` steps: no memory, one snapshot. */
void syn_worker_restart(struct syn_worker *worker, const float *weights, uint64_t steps);

/* Open what leads to the store, which is open. */
enum syn_status syn_worker_open_road(struct syn_worker *worker, const struct syn_layout *layout);

/* Contribute a gradient, or end the contribution that was announced. Waits for the oldest steps if
 * `window` are in flight.
 *   pulls  the weights after this step will be asked for with syn_worker_pull() */
enum syn_status syn_worker_contribute(struct syn_worker *worker, const float *gradient,
                                      const struct syn_rates *rates, bool pulls);

/* Announce a gradient that becomes ready tensor by tensor; nothing, where it must be whole. */
enum syn_status syn_worker_announce(struct syn_worker *worker, const float *gradient,
                                    const struct syn_rates *rates);

/* Collect steps until at most `left` are in flight. */
enum syn_status syn_worker_collect(struct syn_worker *worker, size_t left);

/* Collect all, and get the weights after the last step that pulls. Valid until the next such step
 * is contributed. */
enum syn_status syn_worker_pull(struct syn_worker *worker, const float **weights);

/* As syn_worker_pull(); now and then all workers compare what they got. */
enum syn_status syn_worker_take(struct syn_worker *worker, const float **weights);

/* Collect all, and write the global weights. Collective. */
enum syn_status syn_worker_collect_all(struct syn_worker *worker, float *weights);

/* After a failure on the road: if that is SYN_NONFINITE and there is a delay, start again from
 * the global weights, as all workers do.
 *   weights  [size] written then; or NULL
 * Returns that status, or why it cannot go on. Collective. */
enum syn_status syn_worker_recover(struct syn_worker *worker, enum syn_status status,
                                   float *weights);

#endif

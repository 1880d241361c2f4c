/* Internals of the worker, shared by its files. */
#ifndef SYN_WORKER_INSIDE_H
#define SYN_WORKER_INSIDE_H

#include <syncopate/worker.h>

#include "optim/local.h"
#include "optim/optim.h"
#include "reducer/gather.h"
#include "schedule/schedule.h"
#include "worker/collective.h"
#include "worker/fitting.h"
#include "worker/inner.h"
#include "worker/store.h"
#include "worker/trained.h"

struct syn_worker {
    struct syn_worker_options options; /* resolved */
    double momentum;                   /* the effective one */
    struct syn_group *group;
    const struct syn_store_type *store_type;
    void *store;
    struct syn_reducer *reducer;
    double longest;       /* norm above which a gradient is clipped before it is sent; 0: never */
    bool is_announced;    /* the next gradient is sent tensor by tensor */
    struct syn_cost cost; /* since the last step */
    const struct syn_schedule_type *schedule;
    const struct syn_local_type *local;
    struct syn_trained *trained; /* converts the caller's arrays; NULL: nothing is frozen */
    size_t size;                 /* without frozen tensors, as everything here */
    bool looks_ahead;            /* its own weights are steps tried out by the store (ahead.h) */
    float *v;                    /* [size] late: the worker's own weights; NULL: looks ahead */
    float *memory;               /* [size] of the local update, or NULL */
    float *snapshots[2];         /* [size] the last and the previous weights pulled, or NULL */
    float *global_mean;          /* [size] derived from them, or NULL */
    uint64_t snapshot_steps[2];
    size_t snapshot_count;
    bool is_mean_stale;            /* a snapshot has arrived since it was derived */
    struct syn_local_path between; /* the last two snapshots */
    struct syn_local_path since;   /* the last one */
    bool is_pull_open;
    uint64_t steps;
    uint64_t compared; /* the step of the last comparison */
    struct syn_gathering gathering;
    bool is_gathering;           /* gathering is under way */
    struct syn_inner *inner;     /* rounds of inner steps (schedule local), or NULL */
    struct syn_fitting *fitting; /* NULL unless the density is auto */
    struct syn_form form;        /* of the last step */
    struct syn_cost last;
    struct syn_cost total;
};

/* Whether its own weights differ from the global ones. */
static inline bool syn_worker_is_late(const struct syn_worker *worker)
{
    return worker->schedule->is_delayed || worker->schedule->is_local;
}

/* Restart from the global weights after `steps` steps: no memory, one snapshot. */
void syn_worker_restart(struct syn_worker *worker, const float *weights, uint64_t steps);

/* Open the reducer that leads to the store; the store must be open. */
enum syn_status syn_worker_open_road(struct syn_worker *worker, const struct syn_layout *layout);

/* Contribute a gradient, or end the contribution that was announced. Waits for the oldest steps if
 * `window` are in flight.
 *   pulls  the weights after this step will be fetched with syn_worker_pull() */
enum syn_status syn_worker_contribute(struct syn_worker *worker, const float *gradient,
                                      const struct syn_rates *rates, bool pulls);

/* Announce a gradient that becomes ready tensor by tensor; does nothing if it must be sent
 * whole. */
enum syn_status syn_worker_announce(struct syn_worker *worker, const float *gradient,
                                    const struct syn_rates *rates);

/* Collect steps until at most `left` are in flight. */
enum syn_status syn_worker_collect(struct syn_worker *worker, size_t left);

/* Collect all, and get the weights after the last step that pulls. Valid until the next such step
 * is contributed. */
enum syn_status syn_worker_pull(struct syn_worker *worker, const float **weights);

/* As syn_worker_pull(); from time to time all workers compare what they got. */
enum syn_status syn_worker_take(struct syn_worker *worker, const float **weights);

/* A whole step that waits: contribute a gradient, and write the global weights after it. */
enum syn_status syn_worker_step_promptly(struct syn_worker *worker, const float *gradient,
                                         const struct syn_rates *rates, float *weights);

/* As syn_worker_take(), and try a step out on the weights. The store must be one that tries. */
enum syn_status syn_worker_take_and_try(struct syn_worker *worker, struct syn_trial *trial,
                                        const float **weights);

/* Collect all, and write the global weights. Collective. */
enum syn_status syn_worker_collect_all(struct syn_worker *worker, float *weights);

/* After a failed step: if the status is SYN_NONFINITE and there is a delay, restart from the global
 * weights, as all workers do.
 *   weights  [size] written in that case; or NULL
 * Returns that status, or the failure to restart. Collective. */
enum syn_status syn_worker_recover(struct syn_worker *worker, enum syn_status status,
                                   float *weights);

#endif

/* When a worker waits. A schedule only decides; it neither sends nor computes. */
#ifndef SYN_SCHEDULE_SCHEDULE_H
#define SYN_SCHEDULE_SCHEDULE_H

#include <stdbool.h>
#include <stdint.h>

#include <syncopate/worker.h>

#include "base/table.h"

/* What a step does besides contributing its gradient. */
struct syn_plan {
    bool pulls;  /* the global weights after this step are requested */
    bool blocks; /* and the worker waits for them: the next gradient is computed at them */
};

struct syn_schedule_type {
    struct syn_part part;
    bool is_delayed; /* some steps do not block, so local updates are needed */
    bool has_period; /* pulls every options->delay-th step; otherwise every one */
    bool is_local;   /* workers train on their own, and merge weights instead of gradients */
    bool is_async;   /* workers do not wait for each other, and their weights differ */

    /* The plan of step number `step`, the same on all workers. */
    struct syn_plan (*plan)(const struct syn_worker_options *options, uint64_t step);
};

const struct syn_schedule_type *syn_schedule_row(size_t i);
const struct syn_schedule_type *syn_schedule_find(const char *name);
const char *syn_schedule_name(size_t i);

/* Whether per-tensor rates are used when the global weights are updated: not if workers have
 * already applied them. */
bool syn_schedule_rates(const struct syn_worker_options *options);

/* The plan of a run that pulls every k-th step after its warm-up and ends with synchronous
 * steps. */
struct syn_plan syn_schedule_every(const struct syn_worker_options *options, uint64_t step,
                                   uint64_t k);

#endif

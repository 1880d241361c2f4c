/* Several steps late: every step contributes its gradient, every k-th step gets the global
 * weights. */
#include "schedule/schedule.h"

static struct syn_plan plan(const struct syn_worker_options *options, uint64_t step)
{
    return syn_schedule_every(options, step, options->delay);
}

const struct syn_schedule_type syn_schedule_ssd = {
    .part = {"ssd", "several steps late: weights are pulled every k-th step"},
    .is_delayed = true,
    .has_period = true,
    .plan = plan,
};

/* One step late: the global weights after a step arrive while the next gradient is computed. */
#include "schedule/schedule.h"

static struct syn_plan plan(const struct syn_worker_options *options, uint64_t step)
{
    return syn_schedule_every(options, step, 1);
}

const struct syn_schedule_type syn_schedule_od = {
    .part = {"od", "one step late: weights arrive while the next gradient is computed"},
    .is_delayed = true,
    .plan = plan,
};

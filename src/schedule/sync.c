/* Every step waits for the global weights. */
#include "schedule/schedule.h"

static struct syn_plan plan(const struct syn_worker_options *options, uint64_t step)
{
    (void)options;
    (void)step;
    return (struct syn_plan){.pulls = true, .blocks = true};
}

const struct syn_schedule_type syn_schedule_sync = {
    .part = {"sync", "every step waits for the global weights"},
    .plan = plan,
};

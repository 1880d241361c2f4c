/* Nobody waits for anybody: a worker gets the weights as they are once its own gradient is in
 * them. What has gone in meanwhile depends on the weather, so that no two runs are the same. */
#include "schedule/schedule.h"

static struct syn_plan plan(const struct syn_worker_options *options, uint64_t step)
{
    (void)options;
    (void)step;
    return (struct syn_plan){.pulls = true, .blocks = true};
}

const struct syn_schedule_type syn_schedule_async = {
    .part = {"async", "workers wait for servers only, never for one another; not deterministic"},
    .is_async = true,
    .plan = plan,
};

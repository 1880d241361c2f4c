/* Workers do not wait for each other: a worker gets the weights as they are right after its own
 * gradient was applied. Which other gradients were applied in the meantime depends on timing, so no
 * two runs are the same. */
#include "schedule/schedule.h"

static struct syn_plan plan(const struct syn_worker_options *options, uint64_t step)
{
    (void)options;
    (void)step;
    return (struct syn_plan){.pulls = true, .blocks = true};
}

const struct syn_schedule_type syn_schedule_async = {
    .part = {"async", "workers wait only for servers, never for each other; not deterministic"},
    .is_async = true,
    .plan = plan,
};

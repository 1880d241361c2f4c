/* Each worker trains on its own for some steps; then the workers' weights are merged. Each sends
 * how far it has come, once for all those steps. */
#include "schedule/schedule.h"

static struct syn_plan plan(const struct syn_worker_options *options, uint64_t step)
{
    bool merges = step % options->inner_steps == options->inner_steps - 1;
    return (struct syn_plan){.pulls = merges, .blocks = merges && !options->outer_late};
}

const struct syn_schedule_type syn_schedule_local = {
    .part = {"local",
             "workers train on their own and merge how far they came every inner-steps steps"},
    .is_local = true,
    .plan = plan,
};

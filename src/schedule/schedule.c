/* The table of schedules. */
#include "schedule/schedule.h"

#define SYN_SETTING(...) /* of the parts */
#define SYN_PART(name)   extern const struct syn_schedule_type syn_schedule_##name;
#include <syncopate/parts/schedules.def>
#undef SYN_PART

static const struct syn_schedule_type *const rows[] = {
#define SYN_PART(name) &syn_schedule_##name,
#include <syncopate/parts/schedules.def>
#undef SYN_PART
};
#undef SYN_SETTING

SYN_TABLE(schedule, struct syn_schedule_type)

bool syn_schedule_rates(const struct syn_worker_options *options)
{
    return !syn_schedule_find(options->schedule)->is_local;
}

struct syn_plan syn_schedule_every(const struct syn_worker_options *options, uint64_t step,
                                   uint64_t k)
{
    bool is_warming = step < options->warmup;
    bool is_ending = options->run_steps > 0 && step + k >= options->run_steps;
    if (is_warming || is_ending)
        return (struct syn_plan){.pulls = true, .blocks = true};
    bool pulls = (step - options->warmup) % k == k - 1;
    return (struct syn_plan){.pulls = pulls, .blocks = pulls && options->blocking_pull};
}

/* The table of learning-rate schedules, and the warm-up that any of them can have: linear from a
 * share of the schedule's rate up to all of it. Warm-up multiplies rather than delays, so that
 * milestones stay where they were put. */
#include "engine/train/options/lr_schedule.h"

#include <math.h>
#include <string.h>

#define SYN_SETTING(...) /* of the parts */
#define SYN_PART(name)   extern const struct syn_lr_schedule syn_##name;
#include <syncopate/engine/parts/lr_schedules.def>
#undef SYN_PART

static const struct syn_lr_schedule *const schedules[] = {
#define SYN_PART(name) &syn_##name,
#include <syncopate/engine/parts/lr_schedules.def>
#undef SYN_PART
};
#undef SYN_SETTING
#define SCHEDULES (sizeof schedules / sizeof schedules[0])

const char *syn_lr_schedule_name(size_t i)
{
    return i < SCHEDULES ? schedules[i]->name : NULL;
}

const char *syn_lr_schedule_help(size_t i)
{
    return i < SCHEDULES ? schedules[i]->help : NULL;
}

/* The name has already been checked: it is the last one if it is none of the others. */
static const struct syn_lr_schedule *find(const char *name)
{
    size_t i = 0;
    while (i + 1 < SCHEDULES && strcmp(schedules[i]->name, name) != 0)
        i++;
    return schedules[i];
}

enum syn_status syn_lr_check(const struct syn_train_options *options)
{
    const struct syn_lr_schedule *schedule = find(options->lr_schedule);
    return schedule->check ? schedule->check(options) : SYN_OK;
}

void syn_lr_resolve(struct syn_train_options *options, double epochs)
{
    const struct syn_lr_schedule *schedule = find(options->lr_schedule);
    if (schedule->resolve)
        schedule->resolve(options, epochs);
}

static double warmed_up(const struct syn_train_options *options, struct syn_lr_place place)
{
    double steps =
        fmax((double)options->warmup_steps, options->warmup_epochs * place.steps_per_epoch);
    double x = (double)place.step;
    return x < steps ? options->warmup_from + (1 - options->warmup_from) * x / steps : 1;
}

double syn_lr_cosine_between(double from, double to, double x)
{
    return to + (from - to) * 0.5 * (1 + cos(3.141592653589793 * x));
}

double syn_train_lr(const struct syn_train_options *options, uint64_t step, uint64_t steps,
                    double steps_per_epoch)
{
    struct syn_lr_place place = {step, steps, steps_per_epoch};
    const struct syn_lr_schedule *schedule = find(options->lr_schedule);
    struct syn_lr_place within = place;
    uint64_t from = (uint64_t)round(options->lr_from * steps_per_epoch);
    if (schedule->spans_run && from <= step) {
        within.step = step - from;
        within.steps = steps - from;
    }
    return options->lr * schedule->share(options, within) * warmed_up(options, place);
}

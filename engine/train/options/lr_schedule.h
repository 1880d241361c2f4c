/* Learning-rate schedules: what share of the highest rate a step has. Each is a row of
 * lr_schedules.def. A schedule is a pure function of the step's position in the run, so that a run
 * can be resumed anywhere without state. */
#ifndef SYN_ENGINE_TRAIN_LR_SCHEDULE_H
#define SYN_ENGINE_TRAIN_LR_SCHEDULE_H

#include <stdint.h>

#include <syncopate/engine/train.h>

/* The position of a step in a run. */
struct syn_lr_place {
    uint64_t step; /* from 0 to steps - 1 */
    uint64_t steps;
    double steps_per_epoch;
};

struct syn_lr_schedule {
    const char *name;
    const char *help;
    bool spans_run; /* its shape is stretched over the run, or over the rest of it (lr_from) */

    /* (optional) Check its parameters. */
    enum syn_status (*check)(const struct syn_train_options *options);

    /* (optional) Replace parameters that depend on the length of the run by numbers.
     *   epochs  of the run */
    void (*resolve)(struct syn_train_options *options, double epochs);

    /* The share, 0 .. 1, without warm-up. */
    double (*share)(const struct syn_train_options *options, struct syn_lr_place place);
};

/* Check the parameters of the schedule that the options name. */
enum syn_status syn_lr_check(const struct syn_train_options *options);

/* Replace parameters that depend on the length of the run, in epochs, by numbers. */
void syn_lr_resolve(struct syn_train_options *options, double epochs);

/* Half a cosine wave from one value to another, at x in 0 .. 1 of the way. */
double syn_lr_cosine_between(double from, double to, double x);

#endif

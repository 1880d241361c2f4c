/* A constant learning rate. */
#include "engine/train/options/lr_schedule.h"

static double share(const struct syn_train_options *options, struct syn_lr_place place)
{
    (void)options;
    (void)place;
    return 1;
}

const struct syn_lr_schedule syn_lr_constant = {
    .name = "constant",
    .help = "constant over the run",
    .share = share,
};

/* Half a cosine wave from the full learning rate at the first step down to lr_final, which the
 * step after the last would have (Loshchilov and Hutter, without restarts). */
#include "engine/train/options/lr_schedule.h"

static double share(const struct syn_train_options *options, struct syn_lr_place place)
{
    return syn_lr_cosine_between(1, options->lr_final, (double)place.step / (double)place.steps);
}

const struct syn_lr_schedule syn_lr_cosine = {
    .name = "cosine",
    .help = "falls along half a cosine wave",
    .spans_run = true,
    .share = share,
};

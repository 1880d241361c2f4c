/* One cycle: up along a cosine from lr_first to the full rate in the first lr_peak of the run, then
 * down to lr_final at the last step (Smith's super-convergence, in PyTorch's two-phase form). Short
 * runs learn most this way, which is why the presets of the small models use it. */
#include "engine/train/options/lr_schedule.h"

static double share(const struct syn_train_options *options, struct syn_lr_place place)
{
    double last = (double)place.steps - 1;
    double peak = options->lr_peak * (double)place.steps - 1;
    double step = (double)place.step;
    if (step < peak)
        return syn_lr_cosine_between(options->lr_first, 1, step / peak);
    double begin = peak > 0 ? peak : 0;
    if (last <= begin)
        return 1;
    return syn_lr_cosine_between(1, options->lr_final, (step - begin) / (last - begin));
}

const struct syn_lr_schedule syn_lr_one_cycle = {
    .name = "one-cycle",
    .help = "rises to its maximum, then falls, both along a cosine",
    .spans_run = true,
    .share = share,
};

/* The learning rate falls by a factor after certain epochs: the usual way for residual networks.
 * The milestones stay the text that was typed and are read at each step: that costs nothing
 * beside a step, and there is one truth. */
#include <math.h>

#include <syncopate/text.h>

#include "engine/base/fail.h"
#include "engine/train/schedule.h"

/* Read one milestone; *text moves behind it and its comma. False if there is none or it is
 * malformed. */
static bool next_milestone(const char **text, double *epoch)
{
    char *end;
    *epoch = syn_text_number(*text, &end);
    if (end == *text || !isfinite(*epoch) || (*end != ',' && *end != '\0'))
        return false;
    if (*end == ',' && end[1] == '\0')
        return false;
    *text = *end == ',' ? end + 1 : end;
    return true;
}

static enum syn_status check(const struct syn_train_options *options)
{
    const char *text = options->lr_milestones;
    double before = 0;
    while (*text) {
        double epoch;
        if (!next_milestone(&text, &epoch) || epoch <= before)
            return syn_report(SYN_INVALID,
                              "lr-milestones: \"%s\" is not valid; expected ascending epochs above "
                              "0, such as 81,122",
                              options->lr_milestones);
        before = epoch;
    }
    return SYN_OK;
}

static double share(const struct syn_train_options *options, struct syn_lr_place place)
{
    double step = (double)place.step;
    double share = 1;
    if (options->lr_milestones[0] == '\0') {
        share *= step >= 0.5 * (double)place.steps ? options->lr_factor : 1;
        return share * (step >= 0.75 * (double)place.steps ? options->lr_factor : 1);
    }
    const char *text = options->lr_milestones;
    double epoch;
    while (*text && next_milestone(&text, &epoch))
        share *= step >= epoch * place.steps_per_epoch ? options->lr_factor : 1;
    return share;
}

const struct syn_lr_schedule syn_lr_step = {
    .name = "step",
    .help = "falls by a factor after certain epochs",
    .check = check,
    .share = share,
};

/* The learning rate falls by a factor after certain epochs, or shares of the run: usual for
 * residual networks. The milestones are kept as the text that was typed and parsed at each step:
 * the cost is negligible compared with a step, and there is a single source of truth. When the
 * length of the run is known, shares become epochs. */
#include <math.h>
#include <stdio.h>

#include <syncopate/text.h>

#include "engine/base/fail.h"
#include "engine/train/options/lr_schedule.h"

#define USUAL_MILESTONES "1/2,3/4"

/* An epoch, or a share of the run. */
struct milestone {
    double value;
    bool is_share;
};

/* Read one milestone, such as 81 or 1/2; *text moves past it and its comma. False if there is
 * none or it is malformed. */
static bool next_milestone(const char **text, struct milestone *milestone)
{
    char *end;
    double below = 1;
    milestone->value = syn_text_number(*text, &end);
    if (end == *text)
        return false;
    milestone->is_share = *end == '/';
    if (milestone->is_share) {
        const char *second = end + 1;
        below = syn_text_number(second, &end);
        if (end == second)
            return false;
    }
    milestone->value /= below;
    bool is_sound = isfinite(milestone->value) && milestone->value > 0;
    if (!is_sound || (milestone->is_share && milestone->value > 1))
        return false;
    if ((*end != ',' && *end != '\0') || (*end == ',' && end[1] == '\0'))
        return false;
    *text = *end == ',' ? end + 1 : end;
    return true;
}

static enum syn_status check(const struct syn_train_options *options)
{
    const char *text = options->lr_milestones;
    struct milestone before = {0};
    for (bool is_first = true; *text; is_first = false) {
        struct milestone next;
        bool is_good = next_milestone(&text, &next) && next.value > before.value;
        if (!is_good || (!is_first && next.is_share != before.is_share))
            return syn_report(SYN_INVALID,
                              "lr-milestones: \"%s\" is not valid; expected ascending epochs above "
                              "0, such as 81,122, or shares of the run, such as 1/2,3/4",
                              options->lr_milestones);
        before = next;
    }
    return SYN_OK;
}

static void resolve(struct syn_train_options *options, double epochs)
{
    char made[SYN_TEXT_BYTES] = "";
    size_t length = 0;
    const char *text = options->lr_milestones[0] ? options->lr_milestones : USUAL_MILESTONES;
    struct milestone milestone;
    while (*text && next_milestone(&text, &milestone) && length < sizeof made)
        length += (size_t)syn_text_print(made + length, sizeof made - length, "%s%.10g",
                                         length > 0 ? "," : "",
                                         milestone.value * (milestone.is_share ? epochs : 1));
    if (length < sizeof made)
        snprintf(options->lr_milestones, sizeof options->lr_milestones, "%s", made);
}

/* Milestones that were shares may be off their step by a rounding error. */
static double share(const struct syn_train_options *options, struct syn_lr_place place)
{
    const char *text = options->lr_milestones[0] ? options->lr_milestones : USUAL_MILESTONES;
    struct milestone milestone;
    double share = 1;
    while (*text && next_milestone(&text, &milestone)) {
        double unit = milestone.is_share ? (double)place.steps : place.steps_per_epoch;
        share *= (double)place.step + 1e-3 >= milestone.value * unit ? options->lr_factor : 1;
    }
    return share;
}

const struct syn_lr_schedule syn_lr_step = {
    .name = "step",
    .help = "falls by a factor after certain epochs or shares of the run",
    .check = check,
    .resolve = resolve,
    .share = share,
};

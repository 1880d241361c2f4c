/* Ending before the last step. Launchers of many processes give them a second or two to end, and a
 * step may be longer than that. So the workers end after a step if steps are short; a worker that
 * has been told to end at once abandons the step that it is computing, and the checkpoint is that
 * of the previous step. They agree on it with messages that they exchange anyway: no worker may
 * wait for a gradient that will not come. */
#include "engine/train/control/control.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "engine/base/clock.h"
#include "engine/base/fail.h"
#include "engine/base/memory.h"

#define ASK_EVERY_NS  2e8
#define NS_PER_MINUTE 6e10

enum syn_status syn_control_open(struct syn_replica *replica, struct syn_control *control)
{
    struct syn_poll *poll = &control->poll;
    control->replica = replica;
    return syn_engine_allocate(replica->options.workers, sizeof *poll->wishes, &poll->wishes);
}

void syn_control_close(struct syn_control *control)
{
    free(control->poll.wishes);
}

bool syn_control_can_undo(const struct syn_control *control)
{
    const struct syn_train_options *options = &control->replica->options;
    struct syn_traits traits = syn_worker_traits(&options->worker);
    return !traits.is_delayed && !traits.is_async && options->servers == 0;
}

/* A step whose last tensor is handed over is completed. A step that cannot be undone is given up
 * only if it is long: short steps end soon enough, and workers ask only rarely. */
static bool stops(void *context)
{
    const struct syn_control *control = context;
    bool is_simple =
        syn_control_can_undo(control) || syn_train_is_async(&control->replica->options);
    if (control->is_handed_over)
        return false;
    if (!control->watch.stops(control->watch.context))
        return false;
    bool is_long = (double)(syn_engine_clock_ns() - control->step_ns) >= ASK_EVERY_NS;
    return is_simple || is_long || control->was_cut;
}

void syn_control_watch(struct syn_control *control, const struct syn_train_watch *watch)
{
    if (watch)
        control->watch = *watch;
    control->hook = (struct syn_stop_hook){control->watch.stops ? stops : NULL, control};
}

const struct syn_stop_hook *syn_control_hook(const struct syn_control *control)
{
    return control->hook.stops ? &control->hook : NULL;
}

void syn_control_start(struct syn_control *control)
{
    control->poll.last_ns = syn_engine_clock_ns();
    control->poll.last_step = control->replica->at.step;
    control->saved_ns = control->poll.last_ns;
}

void syn_control_progress(struct syn_control *control, const struct syn_train_progress *progress)
{
    const struct syn_train_watch *watch = &control->watch;
    if (watch->on_progress && !watch->on_progress(watch->context, progress))
        control->wants_stop = true;
}

static bool is_saving_due(const struct syn_control *control, int64_t now)
{
    double pause_ns = control->replica->options.checkpoint_minutes * NS_PER_MINUTE;
    return pause_ns > 0 && (double)(now - control->saved_ns) >= pause_ns;
}

static struct syn_wish wish_of(const struct syn_control *control, int64_t now)
{
    return (struct syn_wish){.wants_stop = control->wants_stop || control->was_cut,
                             .wants_save = is_saving_due(control, now),
                             .was_cut = control->was_cut,
                             .step = control->replica->at.step,
                             .asked_ns = now - control->poll.last_ns};
}

/* If any worker wants to stop, all stop. Asynchronous workers are then at different steps: a
 * resumed run continues from the lowest, so that no example is left out. */
static void take_wishes(struct syn_control *control)
{
    const struct syn_train_options *options = &control->replica->options;
    const struct syn_wish *wishes = control->poll.wishes;
    uint64_t first = control->replica->at.step;
    for (size_t w = 0; w < options->workers; w++) {
        control->stopped = control->stopped || wishes[w].wants_stop != 0;
        first = wishes[w].step < first ? wishes[w].step : first;
    }
    control->wants_save = wishes[0].wants_save != 0;
    if (control->stopped && syn_train_is_async(options))
        control->replica->at.step = first;
}

enum syn_status syn_control_finish(struct syn_control *control)
{
    if (!control->poll.is_under_way)
        return SYN_OK;
    control->poll.is_under_way = false;
    return syn_worker_gather_end(control->replica->update.worker);
}

enum syn_status syn_control_find_cut(struct syn_control *control)
{
    char cause[SYN_TEXT_BYTES];
    bool was_cut = false;
    struct syn_poll *poll = &control->poll;
    struct syn_wish own = wish_of(control, syn_engine_clock_ns());
    snprintf(cause, sizeof cause, "%s", syn_error_text());
    SYN_TRY(syn_control_finish(control));
    SYN_TRY(syn_worker_gather(control->replica->update.worker, &own, sizeof own, poll->wishes));
    for (size_t w = 0; w < control->replica->options.workers; w++)
        was_cut = was_cut || poll->wishes[w].was_cut != 0;
    if (!was_cut)
        return syn_report(SYN_NONFINITE, "%s", cause);
    control->stopped = true;
    return SYN_OK;
}

/* Ask everyone whether they want to stop. The question is sent after the exchange under way and
 * answered when that is over: waiting for it here would defeat the purpose of a delay. */
static enum syn_status ask(struct syn_control *control)
{
    struct syn_poll *poll = &control->poll;
    int64_t now = syn_engine_clock_ns();
    struct syn_wish own = wish_of(control, now);
    SYN_TRY(
        syn_worker_gather_begin(control->replica->update.worker, &own, sizeof own, poll->wishes));
    poll->last_ns = now;
    poll->next_step = control->replica->at.step;
    poll->is_under_way = true;
    return SYN_OK;
}

/* Often enough for a user who presses Ctrl-C, and too rarely to cost anything. All workers must ask
 * at the same steps, so worker 0's clock decides. */
static enum syn_status end_poll(struct syn_control *control)
{
    struct syn_poll *poll = &control->poll;
    SYN_TRY(syn_control_finish(control));
    uint64_t steps = poll->next_step - poll->last_step;
    double step_ns = (double)poll->wishes[0].asked_ns / (double)steps;
    double pause = floor(ASK_EVERY_NS / (step_ns > 1 ? step_ns : 1));
    take_wishes(control);
    poll->last_step = poll->next_step;
    poll->next_step = control->replica->at.step + (pause > 1 ? (uint64_t)pause : 1);
    return SYN_OK;
}

/* Asynchronous workers must not wait for one another; so they ask when they meet anyway. */
enum syn_status syn_control_ask(struct syn_control *control, bool meets)
{
    const struct syn_replica *replica = control->replica;
    bool is_async = syn_train_is_async(&replica->options);
    if (control->stopped)
        return SYN_OK;
    if (replica->options.workers == 1) {
        control->stopped = control->wants_stop || control->was_cut;
        control->wants_save = is_saving_due(control, syn_engine_clock_ns());
        return SYN_OK;
    }
    if (control->poll.is_under_way)
        return end_poll(control);
    if (is_async ? !meets && !control->was_cut : replica->at.step < control->poll.next_step)
        return SYN_OK;
    SYN_TRY(ask(control));
    return is_async ? end_poll(control) : SYN_OK;
}

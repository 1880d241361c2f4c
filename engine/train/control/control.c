/* Ending before the last step. Whoever launches many processes gives them a second or two to
 * end, and a step may be longer than that. So the workers end after a step if steps are short; a
 * worker that has been told to end at once gives up the step that it is computing, and the
 * checkpoint is that of the step before. They agree on it with messages that they exchange
 * anyway: nobody may wait for a gradient that does not come. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "engine/base/clock.h"
#include "engine/base/fail.h"
#include "engine/base/memory.h"
#include "engine/train/loop/loop.h"
#include "engine/train/options/options.h"

#define ASK_EVERY_NS  2e8
#define NS_PER_MINUTE 6e10

static size_t statistics_size(const struct syn_run *run)
{
    return syn_layout_size(syn_model_statistics_layout(run->model));
}

static size_t carry_size(const struct syn_run *run)
{
    return syn_layout_size(syn_model_carry_layout(run->model));
}

bool syn_run_can_undo(const struct syn_run *run)
{
    return strcmp(run->options.worker.schedule, "sync") == 0 && run->options.servers == 0;
}

/* A step whose last tensor is handed over is made. One that cannot be undone is given up only if it
 * is a long one: the end of short ones is soon enough, and they are asked about seldom. */
static bool stops(void *context)
{
    const struct syn_run *run = context;
    bool is_simple = syn_run_can_undo(run) || syn_train_is_async(&run->options);
    if (run->told_count == syn_layout_count(syn_model_layout(run->model)))
        return false;
    if (!run->watch.stops(run->watch.context))
        return false;
    bool is_long = (double)(syn_engine_clock_ns() - run->step_ns) >= ASK_EVERY_NS;
    return is_simple || is_long || run->was_cut;
}

void syn_run_arm(struct syn_run *run)
{
    run->stop = (struct syn_stop_hook){run->watch.stops ? stops : NULL, run};
}

enum syn_status syn_run_allocate_undo(struct syn_run *run)
{
    size_t tensors = syn_layout_count(syn_model_layout(run->model));
    SYN_TRY(syn_engine_allocate(tensors, sizeof *run->told, &run->told));
    return syn_engine_allocate(statistics_size(run) + carry_size(run), sizeof *run->undo,
                               &run->undo);
}

void syn_run_remember(struct syn_run *run)
{
    size_t statistics = statistics_size(run);
    run->step_ns = syn_engine_clock_ns();
    if (!run->stop.stops)
        return;
    if (statistics > 0)
        memcpy(run->undo, syn_model_statistics(run->model), statistics * sizeof *run->undo);
    if (carry_size(run) > 0)
        memcpy(run->undo + statistics, syn_model_carry(run->model, SYN_CARRY_TRAINING),
               carry_size(run) * sizeof *run->undo);
}

void syn_run_undo(struct syn_run *run)
{
    size_t statistics = statistics_size(run);
    if (statistics > 0)
        memcpy(syn_model_statistics(run->model), run->undo, statistics * sizeof *run->undo);
    if (carry_size(run) > 0)
        memcpy(syn_model_carry(run->model, SYN_CARRY_TRAINING), run->undo + statistics,
               carry_size(run) * sizeof *run->undo);
}

static bool is_saving_due(const struct syn_run *run, int64_t now)
{
    double pause_ns = run->options.checkpoint_minutes * NS_PER_MINUTE;
    return pause_ns > 0 && (double)(now - run->saved_ns) >= pause_ns;
}

static struct syn_wish wish_of(const struct syn_run *run, int64_t now)
{
    return (struct syn_wish){.wants_stop = run->wants_stop || run->was_cut,
                             .wants_save = is_saving_due(run, now),
                             .was_cut = run->was_cut,
                             .step = run->step,
                             .asked_ns = now - run->asked_ns};
}

/* Whoever wants to stop, all stop. Asynchronous workers are at different steps then: they go on
 * from the first, so that no example is left out. */
static void take_wishes(struct syn_run *run)
{
    uint64_t first = run->step;
    for (size_t w = 0; w < run->options.workers; w++) {
        run->stopped = run->stopped || run->wishes[w].wants_stop != 0;
        first = run->wishes[w].step < first ? run->wishes[w].step : first;
    }
    run->wants_save = run->wishes[0].wants_save != 0;
    if (run->stopped && syn_train_is_async(&run->options))
        run->step = first;
}

enum syn_status syn_run_hear_of_cut(struct syn_run *run)
{
    char cause[SYN_TEXT_BYTES];
    bool was_cut = false;
    struct syn_wish own = wish_of(run, syn_engine_clock_ns());
    snprintf(cause, sizeof cause, "%s", syn_error_text());
    if (run->is_asking)
        SYN_TRY(syn_worker_hear(run->update.worker));
    run->is_asking = false;
    SYN_TRY(syn_worker_gather(run->update.worker, &own, sizeof own, run->wishes));
    for (size_t w = 0; w < run->options.workers; w++)
        was_cut = was_cut || run->wishes[w].was_cut != 0;
    if (!was_cut)
        return syn_report(SYN_NONFINITE, "%s", cause);
    if (!run->was_cut)
        syn_run_undo(run);
    run->stopped = true;
    return SYN_OK;
}

/* Ask everyone whether they want to stop. The question travels behind the exchange under way and is
 * answered when that is over: to wait for it here would undo what a delay is for. */
static enum syn_status ask(struct syn_run *run)
{
    int64_t now = syn_engine_clock_ns();
    struct syn_wish own = wish_of(run, now);
    SYN_TRY(syn_worker_tell(run->update.worker, &own, sizeof own, run->wishes));
    run->asked_ns = now;
    run->ask_at = run->step;
    run->is_asking = true;
    return SYN_OK;
}

/* Often enough for whoever presses Ctrl-C, and too seldom to cost anything. All workers must ask at
 * the same steps, so the first one's clock counts. */
static enum syn_status hear(struct syn_run *run)
{
    run->is_asking = false;
    SYN_TRY(syn_worker_hear(run->update.worker));
    double step_ns = (double)run->wishes[0].asked_ns / (double)(run->ask_at - run->asked_at);
    double pause = floor(ASK_EVERY_NS / (step_ns > 1 ? step_ns : 1));
    take_wishes(run);
    run->asked_at = run->ask_at;
    run->ask_at = run->step + (pause > 1 ? (uint64_t)pause : 1);
    return SYN_OK;
}

/* Asynchronous workers are not to wait for one another; so they ask when they meet anyway. */
enum syn_status syn_run_ask_to_stop(struct syn_run *run, bool meets)
{
    bool is_async = syn_train_is_async(&run->options);
    if (run->stopped)
        return SYN_OK;
    if (run->options.workers == 1) {
        run->stopped = run->wants_stop || run->was_cut;
        run->wants_save = is_saving_due(run, syn_engine_clock_ns());
        return SYN_OK;
    }
    if (run->is_asking)
        return hear(run);
    if (is_async ? !meets && !run->was_cut : run->step < run->ask_at)
        return SYN_OK;
    SYN_TRY(ask(run));
    return is_async ? hear(run) : SYN_OK;
}

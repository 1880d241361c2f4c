/* The defaults of a method or a model are meant for runs of usual length. A run of fifty steps with
 * a warm-up of five hundred is not the method that was requested; so what the user has not set gets
 * at most a share of the run. The resulting numbers replace the settings: settings.json and
 * checkpoints have what was actually used, and a run that is resumed for longer keeps the warm-ups
 * and milestones that it had. */
#include "engine/train/options/options.h"

#include <math.h>
#include <string.h>

#include <syncopate/text.h>

#include "engine/train/options/lr_schedule.h"

/* The largest shares of a run. A run is named by its density, so four fifths of its steps must have
 * it, although a short run would learn more with a longer warm-up: at a density of 0.001 an entry
 * is sent once in a thousand steps, and a short run does not have many thousands (docs/results.md).
 * Users who want that set it. */
#define DELAY_WARMUP_SHARE   0.1
#define LR_WARMUP_SHARE      0.1
#define DENSITY_WARMUP_SHARE 0.2

/* If the learning rate would rise by more than this factor, because the run was made longer, its
 * schedule begins again instead; a change smaller than the other share is not logged. */
#define MOST_RISE    1.5
#define WORTH_SAYING 0.05

static double epochs_of(struct syn_length length)
{
    return (double)length.steps / (double)length.steps_per_epoch;
}

/* In epochs, rounded to whole steps. */
static double density_share(struct syn_length length)
{
    return floor(DENSITY_WARMUP_SHARE * (double)length.steps) / (double)length.steps_per_epoch;
}

void syn_length_resolve(struct syn_length length, struct syn_train_options *options)
{
    const struct syn_train_usual *usual = &options->usual;
    double epochs = epochs_of(length);
    if (options->worker.warmup > 0 && options->worker.warmup == usual->warmup) {
        uint64_t most = (uint64_t)(DELAY_WARMUP_SHARE * (double)length.steps);
        options->worker.warmup = usual->warmup < most ? usual->warmup : most;
    }
    if (options->warmup_epochs > 0 && options->warmup_epochs == usual->warmup_epochs)
        options->warmup_epochs = fmin(usual->warmup_epochs, LR_WARMUP_SHARE * epochs);
    if (options->density_warmup < 0 || options->density_warmup == usual->density_warmup)
        options->density_warmup = fmin(syn_train_density_warmup(options), density_share(length));
    syn_lr_resolve(options, epochs);
    options->usual = (struct syn_train_usual){0};
}

static bool is_delayed(const struct syn_worker_options *worker)
{
    return syn_worker_traits(worker).is_delayed;
}

void syn_length_find_idle(struct syn_length length, const struct syn_train_options *options,
                          char *text, size_t capacity)
{
    const struct syn_worker_options *worker = &options->worker;
    unsigned long long steps = length.steps;
    double density_steps = syn_train_density_warmup(options) * (double)length.steps_per_epoch;
    double lr_steps = fmax((double)options->warmup_steps,
                           options->warmup_epochs * (double)length.steps_per_epoch);
    text[0] = '\0';
    if (is_delayed(worker) && worker->warmup >= length.steps)
        syn_text_print(
            text, capacity,
            "%s never begins to delay: its warm-up is %llu steps, the run %llu (--warmup)",
            options->algo, (unsigned long long)worker->warmup, steps);
    else if (density_steps > 0 && density_steps >= (double)steps)
        syn_text_print(
            text, capacity,
            "%s never reaches its density of %g: the warm-up is %.0f steps, the run %llu "
            "(--density-warmup)",
            options->algo, worker->reducer.density, density_steps, steps);
    else if (lr_steps > 0 && lr_steps >= (double)steps)
        syn_text_print(
            text, capacity,
            "the learning rate never reaches %g: its warm-up is %.0f steps, the run %llu "
            "(--warmup-steps, --warmup-epochs)",
            options->lr, lr_steps, steps);
}

static double lr_at(const struct syn_train_options *options, struct syn_length_place place)
{
    uint64_t last = place.length.steps - 1;
    return syn_train_lr(options, place.step < last ? place.step : last, place.length.steps,
                        (double)place.length.steps_per_epoch);
}

void syn_length_change(struct syn_length_place before, struct syn_length_place now,
                       struct syn_train_options *options, char *text, size_t capacity)
{
    text[0] = '\0';
    bool is_same =
        fabs(epochs_of(before.length) - epochs_of(now.length)) <
        1.5 / (double)before.length.steps_per_epoch + 1.5 / (double)now.length.steps_per_epoch;
    if (is_same || now.step >= now.length.steps || before.length.steps == 0)
        return;
    unsigned long long left = now.length.steps - now.step;
    double was = lr_at(options, before);
    double is = lr_at(options, now);
    if (is > MOST_RISE * was) {
        options->lr_from = (double)now.step / (double)now.length.steps_per_epoch;
        syn_text_print(
            text, capacity,
            "the learning rate had reached %.3g: for the %llu remaining steps its schedule "
            "(%s) restarts at %.3g, up to %.3g",
            was, left, options->lr_schedule, lr_at(options, now), options->lr);
    } else if (fabs(is - was) > WORTH_SAYING * was) {
        syn_text_print(
            text, capacity,
            "the run is %.4g epochs long instead of %.4g: its learning rate continues at %.3g "
            "instead of %.3g",
            epochs_of(now.length), epochs_of(before.length), is, was);
    }
}

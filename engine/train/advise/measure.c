/* How fast the workers compute, measured with the actual step of the training loop, without the
 * messages. Workers that share a machine slow each other down, so all of them compute at the same
 * time:
 *
 *   in step, as synchronous methods do: wall-clock time from one meeting to the next, less
 *   the time of a meeting of workers that have nothing else to do. So the wait for the slowest in
 *   each step counts, and so does waking up on a processor that others keep busy. Once with the
 *   update of ssgd, once with all that gtopk does to its own gradient: residual, selection, coding,
 *   handing over to the communication thread, and the sparse update;
 *
 *   freely, as delayed methods do, with their local updates; the slowest counts, since the others
 *   wait for it sooner or later.
 *
 * Worker 0 also computes while the others rest, which shows how much of a processor each has. */
#include "engine/train/advise/advise.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "engine/base/clock.h"
#include "engine/base/fail.h"
#include "engine/base/memory.h"

#define WARM_STEPS 3
#define MOST_STEPS 40
#define BUDGET_MS  2500.0 /* for each kind of steps */
#define BLOCKS     5
#define MEETINGS   20

struct stopwatch {
    struct syn_run *run;
    double *all; /* [workers] everyone's time */
    double most;
};

/* Send this worker's time to all and receive theirs; returns only when all workers have called
 * it. */
static enum syn_status meet(struct stopwatch *watch, double ms)
{
    size_t workers = watch->run->replica.options.workers;
    SYN_TRY(syn_worker_gather(watch->run->replica.update.worker, &ms, sizeof ms, watch->all));
    watch->most = 0;
    for (size_t w = 0; w < workers; w++)
        watch->most = watch->all[w] > watch->most ? watch->all[w] : watch->most;
    return SYN_OK;
}

static double ms_since(int64_t began_ns)
{
    return (double)(syn_engine_clock_ns() - began_ns) * 1e-6;
}

/* The mean time of a step. */
static enum syn_status step(struct syn_run *run, size_t steps, double *ms)
{
    int64_t began = syn_engine_clock_ns();
    for (size_t i = 0; i < steps; i++)
        SYN_TRY(syn_run_step(run));
    *ms = ms_since(began) / (double)steps;
    return SYN_OK;
}

static int by_size(const void *one, const void *other)
{
    double a = *(const double *)one;
    double b = *(const double *)other;
    return (a > b) - (a < b);
}

/* The median, because machines may have other work. */
static double median(double blocks[BLOCKS])
{
    qsort(blocks, BLOCKS, sizeof *blocks, by_size);
    return blocks[BLOCKS / 2];
}

/* The time of a meeting of workers that do nothing else. */
static enum syn_status time_meetings(struct stopwatch *watch, double *ms)
{
    SYN_TRY(meet(watch, 0));
    int64_t began = syn_engine_clock_ns();
    for (size_t i = 0; i < MEETINGS; i++)
        SYN_TRY(meet(watch, 0));
    *ms = ms_since(began) / MEETINGS;
    return SYN_OK;
}

/* The time of a step if everyone waits for the slowest in each step. */
static enum syn_status step_together(struct stopwatch *watch, size_t steps, double meeting_ms,
                                     double *ms)
{
    SYN_TRY(meet(watch, 0));
    int64_t began = syn_engine_clock_ns();
    for (size_t i = 0; i < steps; i++) {
        SYN_TRY(step(watch->run, 1, ms));
        SYN_TRY(meet(watch, *ms));
    }
    *ms = ms_since(began) / (double)steps - meeting_ms;
    return SYN_OK;
}

/* The number of steps to measure, agreed on by all workers. */
static enum syn_status warm_up(struct stopwatch *watch, size_t *steps)
{
    double ms;
    SYN_TRY(meet(watch, 0));
    SYN_TRY(step(watch->run, WARM_STEPS, &ms));
    SYN_TRY(meet(watch, ms));
    double affordable = BUDGET_MS / watch->most;
    *steps = affordable > MOST_STEPS ? MOST_STEPS : affordable < 2 ? 2 : (size_t)affordable;
    return SYN_OK;
}

/* Alternate blocks of steps together and blocks of free steps. */
static enum syn_status measure_plain(struct stopwatch *watch, struct syn_advice *advice)
{
    double together[BLOCKS];
    double freely[BLOCKS];
    double meeting_ms;
    double ms = 0;
    size_t steps;
    SYN_TRY(warm_up(watch, &steps));
    if (watch->run->replica.rank == 0)
        SYN_TRY(step(watch->run, steps, &ms));
    SYN_TRY(meet(watch, ms));
    advice->alone_ms = watch->all[0];
    SYN_TRY(time_meetings(watch, &meeting_ms));
    steps = (steps + BLOCKS - 1) / BLOCKS;
    for (size_t block = 0; block < BLOCKS; block++) {
        SYN_TRY(step_together(watch, steps, meeting_ms, &together[block]));
        SYN_TRY(step(watch->run, steps, &ms));
        SYN_TRY(meet(watch, ms));
        freely[block] = watch->most;
    }
    advice->compute_ms = median(freely);
    advice->together_ms = fmax(median(together), advice->compute_ms);
    return SYN_OK;
}

static enum syn_status measure_sparse(struct stopwatch *watch, struct syn_advice *advice)
{
    double together[BLOCKS];
    double meeting_ms;
    size_t steps;
    SYN_TRY(warm_up(watch, &steps));
    SYN_TRY(time_meetings(watch, &meeting_ms));
    for (size_t block = 0; block < BLOCKS; block++)
        SYN_TRY(step_together(watch, (steps + BLOCKS - 1) / BLOCKS, meeting_ms, &together[block]));
    advice->sparse_ms = fmax(median(together), advice->together_ms); /* less is noise */
    return SYN_OK;
}

static enum syn_status measure_delayed(struct stopwatch *watch, struct syn_advice *advice)
{
    size_t steps;
    double ms;
    SYN_TRY(warm_up(watch, &steps));
    SYN_TRY(step(watch->run, steps, &ms));
    SYN_TRY(meet(watch, ms));
    advice->delayed_ms = fmax(watch->most, advice->compute_ms);
    return SYN_OK;
}

/* Measure with the worker of a recipe. */
static enum syn_status measure_with(struct stopwatch *watch, const char *recipe,
                                    enum syn_status (*measure)(struct stopwatch *watch,
                                                               struct syn_advice *advice),
                                    struct syn_advice *advice)
{
    struct syn_run *run = watch->run;
    struct syn_worker_options asked = run->replica.options.worker;
    SYN_TRY(syn_recipe_apply_worker(recipe, &run->replica.options.worker));
    run->replica.options.worker.warmup = 0;
    syn_model_initialise(run->replica.model, run->replica.options.seed, run->replica.weights);
    enum syn_status status = syn_update_open(&run->replica.options, run->replica.group,
                                             syn_model_layout(run->replica.model),
                                             run->replica.weights, &run->replica.update);
    if (status == SYN_OK)
        status = measure(watch, advice);
    if (status != SYN_OK && run->replica.update.worker)
        syn_worker_abandon(run->replica.update.worker, status, syn_error_text());
    syn_update_close(&run->replica.update);
    memset(&run->replica.update, 0, sizeof run->replica.update);
    run->replica.options.worker = asked;
    return status;
}

/* Whether the recipe can be combined with the other settings, and so may be proposed at all. */
static bool is_possible(const struct syn_run *run, const char *recipe)
{
    struct syn_worker_options options = run->replica.options.worker;
    return !syn_worker_traits(&options).adapts &&
           syn_recipe_apply_worker(recipe, &options) == SYN_OK && syn_worker_is_possible(&options);
}

static enum syn_status measure_all(struct syn_run *run, struct syn_advice *advice)
{
    struct stopwatch watch = {.run = run};
    SYN_TRY(syn_batches_open(run->replica.data, &run->replica.options, SYN_DATA_TRAIN,
                             run->replica.rank, &run->replica.batches));
    SYN_TRY(syn_engine_allocate(run->replica.options.workers, sizeof *watch.all, &watch.all));
    enum syn_status status = measure_with(&watch, "ssgd", measure_plain, advice);
    advice->sparse_ms = advice->delayed_ms = (double)NAN;
    if (status == SYN_OK && is_possible(run, "gtopk"))
        status = measure_with(&watch, "gtopk", measure_sparse, advice);
    if (status == SYN_OK && is_possible(run, "ssd-sgd"))
        status = measure_with(&watch, "ssd-sgd", measure_delayed, advice);
    free(watch.all);
    return status;
}

/* Uses its own loader and a tiny learning rate; afterwards everything is as before. */
enum syn_status syn_advise_measure(struct syn_run *run, struct syn_advice *advice)
{
    struct syn_train_options asked = run->replica.options;
    struct syn_loader *batches = run->replica.batches;
    uint64_t steps = run->replica.at.steps;
    run->replica.batches = NULL;
    run->replica.at.steps = 1000000;
    run->replica.options.no_exchange = true;
    run->replica.options.lr = 1e-9;
    run->replica.options.density_warmup = 0;
    run->replica.options.worker.run_steps = 0;
    enum syn_status status = measure_all(run, advice);
    syn_loader_close(run->replica.batches);
    run->replica.batches = batches;
    run->replica.options = asked;
    run->replica.at.steps = steps;
    run->replica.at.step = 0;
    memset(&run->metrics.now.sums, 0, sizeof run->metrics.now.sums);
    return status == SYN_OK ? syn_replica_initialise(&run->replica) : status;
}

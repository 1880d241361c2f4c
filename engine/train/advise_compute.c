/* How fast the workers compute, measured with the very step of the training loop, but for the
 * exchange. Workers that share a machine slow each other down, so everybody computes at once, first
 * in step, as synchronous methods do, then freely, as delayed ones do, with their local updates;
 * worker 0 also computes while the others rest, which tells how much of a processor each of them
 * has. The slowest counts: the others wait for it sooner or later. */
#include "engine/train/advise.h"

#include <stdlib.h>
#include <string.h>

#include "engine/base/clock.h"
#include "engine/base/fail.h"
#include "engine/base/memory.h"
#include "engine/train/feed.h"

#define WARM_STEPS 3
#define MOST_STEPS 12
#define BUDGET_MS  2500.0 /* for each kind of steps */
#define BLOCKS     5
#define SELECTIONS 9

struct stopwatch {
    struct syn_run *run;
    double *all; /* [workers] everyone's time */
    double most;
};

/* Tell everyone this worker's time and hear theirs; nobody goes on before all have come here. */
static enum syn_status meet(struct stopwatch *watch, double ms)
{
    size_t workers = watch->run->options.workers;
    SYN_TRY(syn_worker_gather(watch->run->update.worker, &ms, sizeof ms, watch->all));
    watch->most = 0;
    for (size_t w = 0; w < workers; w++)
        watch->most = watch->all[w] > watch->most ? watch->all[w] : watch->most;
    return SYN_OK;
}

/* The mean time of a step. */
static enum syn_status step(struct syn_run *run, size_t steps, double *ms)
{
    int64_t began = syn_engine_clock_ns();
    for (size_t i = 0; i < steps; i++)
        SYN_TRY(syn_run_step(run));
    *ms = (double)(syn_engine_clock_ns() - began) * 1e-6 / (double)steps;
    return SYN_OK;
}

static int by_size(const void *one, const void *other)
{
    double a = *(const double *)one;
    double b = *(const double *)other;
    return (a > b) - (a < b);
}

/* Some steps together, then as many freely, in blocks that take turns; the median block counts, for
 * machines that have other work. */
static enum syn_status measure_blocks(struct stopwatch *watch, size_t steps,
                                      struct syn_advice *advice)
{
    double together[BLOCKS] = {0};
    double freely[BLOCKS];
    double ms;
    for (size_t block = 0; block < BLOCKS; block++) {
        for (size_t i = 0; i < steps; i++) {
            SYN_TRY(step(watch->run, 1, &ms));
            SYN_TRY(meet(watch, ms));
            together[block] += watch->most / (double)steps;
        }
        SYN_TRY(step(watch->run, steps, &ms));
        SYN_TRY(meet(watch, ms));
        freely[block] = watch->most;
    }
    qsort(together, BLOCKS, sizeof *together, by_size);
    qsort(freely, BLOCKS, sizeof *freely, by_size);
    advice->together_ms = together[BLOCKS / 2];
    advice->compute_ms = freely[BLOCKS / 2];
    return SYN_OK;
}

/* How many steps are worth their time, of all workers together. */
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

static enum syn_status measure_sync(struct stopwatch *watch, struct syn_advice *advice)
{
    size_t steps;
    double ms = 0;
    SYN_TRY(warm_up(watch, &steps));
    if (watch->run->rank == 0)
        SYN_TRY(step(watch->run, steps, &ms));
    SYN_TRY(meet(watch, ms));
    advice->alone_ms = watch->all[0];
    SYN_TRY(measure_blocks(watch, (steps + BLOCKS - 1) / BLOCKS, advice));
    if (advice->together_ms < advice->compute_ms)
        advice->together_ms = advice->compute_ms;
    return SYN_OK;
}

static enum syn_status measure_delayed(struct stopwatch *watch, struct syn_advice *advice)
{
    size_t steps;
    double ms;
    SYN_TRY(warm_up(watch, &steps));
    SYN_TRY(step(watch->run, steps, &ms));
    SYN_TRY(meet(watch, ms));
    advice->delayed_ms = watch->most;
    return SYN_OK;
}

static enum syn_status measure_selection(struct stopwatch *watch, struct syn_advice *advice)
{
    struct syn_reducer_options sparse = watch->run->options.worker.reducer;
    struct syn_select_measure select;
    struct syn_codec_measure codec;
    SYN_TRY(syn_recipe_apply("gtopk", &sparse));
    SYN_TRY(syn_measure_select(&sparse, watch->run->params, SELECTIONS, &select));
    SYN_TRY(syn_measure_codec(&sparse, watch->run->params, SELECTIONS, &codec));
    SYN_TRY(meet(watch, select.pick_ms + codec.encode_ms + codec.decode_ms));
    advice->select_ms = watch->most;
    return SYN_OK;
}

/* With the worker of a recipe, alone. */
static enum syn_status measure_with(struct stopwatch *watch, const char *recipe,
                                    enum syn_status (*measure)(struct stopwatch *watch,
                                                               struct syn_advice *advice),
                                    struct syn_advice *advice)
{
    struct syn_run *run = watch->run;
    SYN_TRY(syn_recipe_apply_worker(recipe, &run->options.worker));
    run->options.worker.warmup = 0;
    syn_model_initialise(run->model, run->options.seed, run->weights);
    enum syn_status status = syn_update_open(
        &run->options, run->group, syn_model_layout(run->model), run->weights, &run->update);
    if (status == SYN_OK)
        status = measure(watch, advice);
    if (status != SYN_OK && run->update.worker)
        syn_worker_abandon(run->update.worker, status, syn_error_text());
    syn_update_close(&run->update);
    memset(&run->update, 0, sizeof run->update);
    return status;
}

static enum syn_status measure_all(struct syn_run *run, struct syn_advice *advice)
{
    struct stopwatch watch = {.run = run};
    SYN_TRY(syn_feed_open(run->data, &run->options, SYN_DATA_TRAIN, run->rank, &run->learning));
    SYN_TRY(syn_engine_allocate(run->options.workers, sizeof *watch.all, &watch.all));
    enum syn_status status = measure_with(&watch, "ssgd", measure_sync, advice);
    if (status == SYN_OK)
        status = measure_with(&watch, "ssd-sgd", measure_delayed, advice);
    if (status == SYN_OK)
        status = measure_with(&watch, "ssgd", measure_selection, advice);
    free(watch.all);
    return status;
}

/* With a loader of its own, and a learning rate that moves nothing; then everything is as
 * before. */
enum syn_status syn_advise_compute(struct syn_run *run, struct syn_advice *advice)
{
    struct syn_train_options asked = run->options;
    struct syn_loader *learning = run->learning;
    uint64_t steps = run->steps;
    run->learning = NULL;
    run->steps = 1000000;
    run->options.no_exchange = true;
    run->options.lr = 1e-9;
    run->options.worker.run_steps = 0;
    enum syn_status status = measure_all(run, advice);
    syn_loader_close(run->learning);
    run->learning = learning;
    run->options = asked;
    run->steps = steps;
    run->step = 0;
    memset(&run->lately, 0, sizeof run->lately);
    syn_model_initialise(run->model, asked.seed, run->weights);
    return status;
}

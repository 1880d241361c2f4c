/* How fast the workers compute, measured with the very step of the training loop, but for the
 * exchange. Workers that share a machine slow each other down, so everybody computes at once, first
 * in step, as synchronous methods do, then freely, as delayed ones do; worker 0 also computes while
 * the others rest, which tells how much of a processor each of them has. */
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
#define BLOCKS     4
#define SELECTIONS 9

struct stopwatch {
    struct syn_run *run;
    double *all; /* [workers] everyone's time */
    double mean;
    double most;
};

/* Tell everyone this worker's time and hear theirs; nobody goes on before all have come here. */
static enum syn_status meet(struct stopwatch *watch, double ms)
{
    size_t workers = watch->run->options.workers;
    SYN_TRY(syn_worker_gather(watch->run->update.worker, &ms, sizeof ms, watch->all));
    watch->mean = 0;
    watch->most = 0;
    for (size_t w = 0; w < workers; w++) {
        watch->mean += watch->all[w] / (double)workers;
        watch->most = watch->all[w] > watch->most ? watch->all[w] : watch->most;
    }
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

/* Some steps together, then as many freely; kinds take turns, for machines that have other work. */
static enum syn_status measure_block(struct stopwatch *watch, size_t steps,
                                     struct syn_advice *advice)
{
    double ms;
    for (size_t i = 0; i < steps; i++) {
        SYN_TRY(step(watch->run, 1, &ms));
        SYN_TRY(meet(watch, ms));
        advice->together_ms += watch->most / (double)(steps * BLOCKS);
    }
    SYN_TRY(step(watch->run, steps, &ms));
    SYN_TRY(meet(watch, ms));
    advice->compute_ms += watch->mean / BLOCKS;
    return SYN_OK;
}

static enum syn_status measure_steps(struct stopwatch *watch, struct syn_advice *advice)
{
    struct syn_run *run = watch->run;
    double ms = 0;
    SYN_TRY(meet(watch, 0));
    SYN_TRY(step(run, WARM_STEPS, &ms));
    SYN_TRY(meet(watch, ms));
    double affordable = BUDGET_MS / watch->most;
    size_t steps = affordable > MOST_STEPS ? MOST_STEPS : affordable < 2 ? 2 : (size_t)affordable;
    if (run->rank == 0)
        SYN_TRY(step(run, steps, &ms));
    SYN_TRY(meet(watch, ms));
    advice->alone_ms = watch->all[0];
    for (size_t i = 0; i < BLOCKS; i++)
        SYN_TRY(measure_block(watch, (steps + BLOCKS - 1) / BLOCKS, advice));
    if (advice->together_ms < advice->compute_ms)
        advice->together_ms = advice->compute_ms;
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

static enum syn_status measure(struct syn_run *run, struct syn_advice *advice)
{
    struct stopwatch watch = {.run = run};
    SYN_TRY(syn_engine_allocate(run->options.workers, sizeof *watch.all, &watch.all));
    enum syn_status status =
        syn_feed_open(run->data, &run->options, SYN_DATA_TRAIN, run->rank, &run->learning);
    if (status == SYN_OK)
        status = syn_run_join(run);
    if (status == SYN_OK)
        status = measure_steps(&watch, advice);
    if (status == SYN_OK)
        status = measure_selection(&watch, advice);
    if (status != SYN_OK && run->update.worker)
        syn_worker_abandon(run->update.worker, status, syn_error_text());
    free(watch.all);
    return status;
}

/* With a loader of its own and plain SGD; then everything is as before. */
enum syn_status syn_advise_compute(struct syn_run *run, struct syn_advice *advice)
{
    struct syn_train_options asked = run->options;
    struct syn_loader *learning = run->learning;
    run->learning = NULL;
    run->options.no_exchange = true;
    enum syn_status status = syn_recipe_apply_worker("ssgd", &run->options.worker);
    if (status == SYN_OK)
        status = measure(run, advice);
    syn_update_close(&run->update);
    memset(&run->update, 0, sizeof run->update);
    syn_loader_close(run->learning);
    run->learning = learning;
    run->options = asked;
    run->step = 0;
    memset(&run->lately, 0, sizeof run->lately);
    syn_model_initialise(run->model, asked.seed, run->weights);
    return status;
}

/* Store shards on the same road as everything else: values that round lose nothing there, and what
 * an exchange cannot do is refused. */
#include "check.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include <syncopate/worker.h>

#include "quadratic.h"
#include "scenario.h"
#include "workers.h"

enum { STEPS = 15 };

struct run {
    struct syn_worker_options options;
    size_t bad_call; /* the last worker's gradient is not finite in this call; 0: in none */
    enum syn_status status[WORKERS_MOST];
    size_t failures[WORKERS_MOST];
    char cause[WORKERS_MOST][512];
    double handed[WORKERS_MOST][QUADRATIC_SIZE]; /* sum of gradients */
    float residual[WORKERS_MOST][QUADRATIC_SIZE];
    float weights[WORKERS_MOST][QUADRATIC_SIZE]; /* the settled ones */
};

static const double lr = 0.05;

/* Plain SGD, whose weights are an account of all gradients. Free it. */
static struct run *plain_run(const char *values)
{
    struct run *run = calloc(1, sizeof *run);
    run->options = quadratic_options("ssd-sgd");
    run->options.store = "shards";
    run->options.reducer.values = values;
    run->options.optimizer.momentum = 0;
    run->options.optimizer.weight_decay = 0;
    run->options.warmup = 3;
    run->options.delay = 8;
    run->options.window = 3;
    return run;
}

static void train(struct run *run, struct syn_worker *worker, size_t rank, bool is_odd)
{
    float weights[QUADRATIC_SIZE];
    float gradient[QUADRATIC_SIZE];
    static _Thread_local double before[QUADRATIC_SIZE]; /* handed over before the bad step */
    struct syn_rates rates = {.lr = lr};
    enum syn_status status = SYN_OK;
    scenario_weights(weights, QUADRATIC_SIZE);
    for (size_t step = 0; step < STEPS && (status == SYN_OK || status == SYN_NONFINITE); step++) {
        quadratic_gradient(rank, step, weights, gradient);
        if (step == run->bad_call)
            memcpy(before, run->handed[rank], sizeof before);
        for (size_t i = 0; i < QUADRATIC_SIZE; i++)
            run->handed[rank][i] += (double)gradient[i];
        if (is_odd && run->bad_call > 0 && step == run->bad_call)
            gradient[450] = NAN;
        status = syn_worker_step(worker, gradient, &rates, weights);
        if (status != SYN_NONFINITE)
            continue;
        memcpy(run->handed[rank], before, sizeof before);
        run->failures[rank]++;
    }
    status = syn_worker_settle(worker, run->weights[rank]);
    run->status[rank] = status;
    if (status == SYN_OK && syn_worker_residual(worker))
        memcpy(run->residual[rank], syn_worker_residual(worker), sizeof run->residual[rank]);
}

static void member(struct syn_group *group, size_t rank, void *context)
{
    struct run *run = context;
    struct syn_layout *layout = NULL;
    struct syn_worker *worker = NULL;
    float weights[QUADRATIC_SIZE];
    scenario_weights(weights, QUADRATIC_SIZE);
    run->status[rank] = scenario_layout(quadratic_tensors, &layout);
    if (run->status[rank] == SYN_OK)
        run->status[rank] = syn_worker_open(group, layout, &run->options, weights, &worker);
    if (worker)
        train(run, worker, rank, rank + 1 == syn_group_workers(group));
    snprintf(run->cause[rank], sizeof run->cause[rank], "%s", syn_error_text());
    syn_worker_close(worker);
    syn_layout_free(layout);
}

static void play(struct run *run, size_t workers)
{
    run_workers(workers, 20000, member, run);
    for (size_t i = 0; i < workers; i++) {
        if (run->status[i] != SYN_OK)
            fail_msg("worker %zu of %zu: %s", i, workers, run->cause[i]);
        assert_memory_equal(run->weights[i], run->weights[0], sizeof run->weights[0]);
        assert_int_equal(run->failures[i], run->failures[0]);
    }
}

/* The weights have moved by the mean of all gradients, but for what is still in residuals. */
static void assert_nothing_lost(const struct run *run, size_t workers)
{
    float first[QUADRATIC_SIZE];
    scenario_weights(first, QUADRATIC_SIZE);
    for (size_t i = 0; i < QUADRATIC_SIZE; i++) {
        double sum = 0;
        for (size_t w = 0; w < workers; w++)
            sum += run->handed[w][i] - (double)run->residual[w][i];
        double expected = (double)first[i] - lr * sum / (double)workers;
        if (fabs(expected - (double)run->weights[0][i]) > 1e-4)
            fail_msg("entry %zu with %zu workers: %g; expected %g", i, workers,
                     (double)run->weights[0][i], expected);
    }
}

static void values_that_round_lose_nothing_in_shards(void **state)
{
    (void)state;
    static const char *const values[] = {"f32", "f16", "q8"};
    static const size_t workers[] = {1, 2, 3, 5};
    for (int v = 0; v < 3; v++)
        for (int w = 0; w < 4; w++) {
            struct run *run = plain_run(values[v]);
            play(run, workers[w]);
            assert_nothing_lost(run, workers[w]);
            free(run);
        }
}

/* The bad step and those in flight behind it did not happen, on any worker: neither in the weights
 * nor in what workers keep for later. */
static void steps_that_were_dropped_leave_no_trace_in_shards(void **state)
{
    (void)state;
    for (size_t workers = 1; workers <= 3; workers++) {
        struct run *run = plain_run("f16");
        run->bad_call = 6;
        play(run, workers);
        assert_int_equal(run->failures[0], 1);
        assert_nothing_lost(run, workers);
        free(run);
    }
}

static void an_exchange_that_leaves_no_sums_is_refused(void **state)
{
    (void)state;
    struct syn_worker_options options = quadratic_options("ssd-sgd");
    options.store = "shards";
    options.reducer.select = "topk";
    options.reducer.exchange = "allgather";
    assert_status(SYN_INVALID, syn_worker_check(&options));
    assert_non_null(strstr(syn_error_text(), "allgather"));
}

/* They would leave each sum with one worker at a time; whoever asks for buckets alone gets
 * replicas. */
static void buckets_are_refused(void **state)
{
    (void)state;
    struct syn_worker_options options = quadratic_options("ssd-sgd");
    options.reducer.bucket_bytes = 900;
    assert_ok(syn_worker_check(&options));
    options.store = "shards";
    assert_status(SYN_INVALID, syn_worker_check(&options));
    assert_non_null(strstr(syn_error_text(), "use bucket-bytes 0, not 900"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(values_that_round_lose_nothing_in_shards),
        cmocka_unit_test(steps_that_were_dropped_leave_no_trace_in_shards),
        cmocka_unit_test(an_exchange_that_leaves_no_sums_is_refused),
        cmocka_unit_test(buckets_are_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

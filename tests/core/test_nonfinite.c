/* A worker's step with NaN or infinity in somebody's gradient: it fails on all workers at once, and
 * all of them go on together. */
#include "check.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include <syncopate/worker.h>

#include "base/hash.h"
#include "base/status.h"
#include "quadratic.h"
#include "scenario.h"
#include "workers.h"

enum { STEPS = 20, BAD_STEP = 8 };

struct run {
    struct syn_worker_options options;
    const size_t *tensors;
    size_t steps;
    float bad;         /* what is in the last worker's gradient */
    size_t bad_entry;  /* and where */
    size_t bad_steps;  /* so many extra steps have it, from BAD_STEP on */
    bool is_everyones; /* it is in all workers' gradients */
    bool by_tensor;    /* tensors become ready one by one */

    enum syn_status status[WORKERS_MOST]; /* the first that is neither good nor SYN_NONFINITE */
    char cause[WORKERS_MOST][512];        /* of the first failure */
    size_t failures[WORKERS_MOST];
    uint64_t
        failed_at[WORKERS_MOST]; /* a bit for each call, settling included, that was not finite */
    float after[WORKERS_MOST][QUADRATIC_SIZE]; /* the weights of the last of these */
    uint64_t hash[WORKERS_MOST];               /* of all weights handed out by good steps */
    size_t unfit[WORKERS_MOST]; /* weights that any step handed out and are not finite */
    float weights[WORKERS_MOST][QUADRATIC_SIZE]; /* the settled ones */
};

/* A run of a recipe, allocated; free() it. */
static struct run *run_of(const char *recipe, float bad, size_t bad_steps)
{
    struct run *run = calloc(1, sizeof *run);
    run->options = quadratic_options(recipe);
    run->tensors = quadratic_tensors;
    run->steps = STEPS;
    run->bad = bad;
    run->bad_entry = 450;
    run->bad_steps = bad_steps;
    return run;
}

/* Keep what a call has come to. Returns whether the worker can go on. */
static bool note(struct run *run, size_t rank, size_t call, enum syn_status status,
                 const float *weights)
{
    if (status == SYN_OK)
        return true;
    if (run->failures[rank]++ == 0)
        snprintf(run->cause[rank], sizeof run->cause[rank], "%s", syn_error_text());
    if (status != SYN_NONFINITE) {
        run->status[rank] = status;
        return false;
    }
    run->failed_at[rank] |= (uint64_t)1 << call;
    memcpy(run->after[rank], weights, sizeof run->after[rank]);
    return true;
}

static enum syn_status take_step(const struct run *run, struct syn_worker *worker,
                                 const float *gradient, float *weights)
{
    struct syn_rates rates = {.lr = 0.05};
    if (run->by_tensor) {
        SYN_TRY(syn_worker_start(worker, gradient, &rates));
        for (size_t i = 3; i-- > 0;)
            SYN_TRY(syn_worker_ready(worker, i));
    }
    return syn_worker_step(worker, gradient, &rates, weights);
}

/* Bad steps come on top of the others, which do not know of them. */
static void train(struct run *run, struct syn_worker *worker, size_t rank, bool is_odd)
{
    float weights[QUADRATIC_SIZE];
    float gradient[QUADRATIC_SIZE];
    scenario_weights(weights, QUADRATIC_SIZE);
    size_t calls = run->steps + run->bad_steps;
    bool goes_on = true;
    for (size_t call = 0, step = 0; call < calls && goes_on; call++) {
        bool is_bad = call >= BAD_STEP && call < BAD_STEP + run->bad_steps;
        quadratic_gradient(rank, step, weights, gradient);
        step += !is_bad;
        if (is_bad && (is_odd || run->is_everyones))
            gradient[run->bad_entry] = run->bad;
        enum syn_status status = take_step(run, worker, gradient, weights);
        goes_on = note(run, rank, call, status, weights);
        for (size_t i = 0; i < QUADRATIC_SIZE; i++)
            run->unfit[rank] += isfinite(weights[i]) ? 0 : 1;
        if (status == SYN_OK)
            run->hash[rank] = syn_hash(run->hash[rank], weights, sizeof weights);
    }
    for (int i = 0; i < 2 && goes_on; i++) { /* twice: the first may find something */
        enum syn_status status = syn_worker_settle(worker, run->weights[rank]);
        goes_on = note(run, rank, calls, status, run->weights[rank]);
    }
}

static void member(struct syn_group *group, size_t rank, void *context)
{
    float first[QUADRATIC_SIZE];
    struct run *run = context;
    struct syn_layout *layout = NULL;
    struct syn_worker *worker = NULL;
    enum syn_status status = scenario_layout(run->tensors, &layout);
    scenario_weights(first, QUADRATIC_SIZE);
    if (status == SYN_OK)
        status = syn_worker_open(group, layout, &run->options, first, &worker);
    if (note(run, rank, 0, status, first) && worker)
        train(run, worker, rank, rank + 1 == syn_group_workers(group));
    syn_worker_close(worker);
    syn_layout_free(layout);
}

/* Run it; everyone must come to its end, with the same weights, which are finite. */
static void execute(struct run *run, size_t workers)
{
    run_workers(workers, 20000, member, run);
    for (size_t w = 0; w < workers; w++) {
        if (run->status[w] != SYN_OK)
            fail_msg("worker %zu of %zu: %s", w, workers, run->cause[w]);
        assert_memory_equal(run->weights[w], run->weights[0], sizeof run->weights[0]);
        assert_int_equal(run->unfit[w], 0);
    }
    for (size_t i = 0; i < QUADRATIC_SIZE; i++)
        assert_true(isfinite(run->weights[0][i]));
}

/* All workers failed in the same calls, and had the same weights afterwards. */
static void assert_failed_together(const struct run *run, size_t workers)
{
    assert_true(run->failures[0] > 0);
    for (size_t w = 0; w < workers; w++) {
        assert_int_equal(run->failures[w], run->failures[0]);
        assert_true(run->failed_at[w] == run->failed_at[0]);
    }
    assert_non_null(strstr(run->cause[workers - 1], "\"t1\", entry 50"));
}

static const size_t worker_counts[] = {1, 2, 3, 5};

static void without_a_delay_the_step_leaves_no_trace(void **state)
{
    (void)state;
    enum { IN_SHARDS = 4, BY_SPLIT, IN_FEW_BITS, RECIPES };
    static const char *const recipes[RECIPES] = {"ssgd", "topk",  "gtopk", "strom",
                                                 "ssgd", "gtopk", "ssgd"};
    static const float bad[] = {NAN, INFINITY, -INFINITY};
    for (int r = 0; r < RECIPES; r++)
        for (int t = 0; t < 4; t++)
            for (int by_tensor = 0; by_tensor < 2; by_tensor++) {
                struct run *good = run_of(recipes[r], 0, 0);
                struct run *failed = run_of(recipes[r], bad[(r + t) % 3], 2);
                failed->by_tensor = by_tensor;
                if (r == IN_SHARDS) {
                    good->options.store = failed->options.store = "shards";
                    failed->by_tensor = false;
                } else if (r == BY_SPLIT) {
                    good->options.reducer.exchange = failed->options.reducer.exchange = "split";
                } else if (r == IN_FEW_BITS) {
                    good->options.reducer.values = failed->options.reducer.values = "q4";
                    good->options.reducer.residual = failed->options.reducer.residual = "feedback";
                }
                execute(good, worker_counts[t]);
                execute(failed, worker_counts[t]);
                assert_failed_together(failed, worker_counts[t]);
                assert_true(failed->failed_at[0] == (uint64_t)3 << BAD_STEP);
                for (size_t w = 0; w < worker_counts[t]; w++)
                    assert_true(failed->hash[w] == good->hash[w]);
                free(good);
                free(failed);
            }
}

/* The delayed methods, on stores of both kinds. */
static struct run *delayed(size_t number, float bad, size_t bad_steps)
{
    static const char *const recipes[] = {"od-sgd", "ssd-sgd", "ssd-sgd", "od-sgd"};
    static const char *const locals[] = {"carry", "glu", "adcasgd", "momentum"};
    struct run *run = run_of(recipes[number], bad, bad_steps);
    run->options.optimizer_local = locals[number];
    run->options.delay = 3;
    run->options.store = number < 2 ? "shards" : "replicas";
    if (number == 2) {
        run->options.reducer.select = "topk";
        run->options.reducer.exchange = "gtopk";
        run->options.reducer.residual = "feedback";
    }
    return run;
}
enum { DELAYED = 4 };

static void with_a_delay_all_begin_anew_from_the_same_weights(void **state)
{
    (void)state;
    for (size_t number = 0; number < DELAYED; number++)
        for (int t = 0; t < 4; t++)
            for (size_t window = 1; window <= 5; window += 2) {
                struct run *run = delayed(number, NAN, 1 + window / 2);
                run->options.window = window;
                execute(run, worker_counts[t]);
                assert_failed_together(run, worker_counts[t]);
                /* Found no more than a window late. */
                assert_true(run->failed_at[0] < (uint64_t)1 << (BAD_STEP + 2 * window + 1));
                assert_true(run->failed_at[0] >= (uint64_t)1 << BAD_STEP);
                for (size_t w = 0; w < worker_counts[t]; w++)
                    assert_memory_equal(run->after[w], run->after[0], sizeof run->after[0]);
                for (size_t i = 0; i < QUADRATIC_SIZE; i++)
                    assert_true(isfinite(run->after[0][i]));
                free(run);
            }
}

static void settling_finds_what_is_still_under_way(void **state)
{
    (void)state;
    for (size_t number = 0; number < DELAYED; number++) {
        struct run *run = delayed(number, INFINITY, 1);
        run->options.window = 3;
        run->steps = BAD_STEP; /* the bad one is the last */
        execute(run, 3);
        assert_failed_together(run, 3);
        assert_true(run->failed_at[0] == (uint64_t)1 << (BAD_STEP + 1));
        assert_memory_equal(run->after[1], run->weights[0], sizeof run->weights[0]);
        free(run);
    }
}

static void assert_final(struct run *run, size_t workers, const char *words)
{
    run_workers(workers, 20000, member, run);
    for (size_t w = 0; w < workers; w++) {
        assert_true(run->status[w] == SYN_PEER || run->failures[w] > 2);
        assert_non_null(strstr(run->cause[w], words));
    }
}

static void in_shards_a_sum_that_overflows_is_final(void **state)
{
    (void)state;
    struct run *run = delayed(1, 3e38F, 1);
    run->is_everyones = true;
    assert_final(run, 3, "sum not finite in tensor \"t1\", entry 50");
    free(run);
}

static void in_shards_fewer_weights_than_workers_make_it_final(void **state)
{
    (void)state;
    static const size_t few[] = {2, SIZE_MAX};
    struct run *run = delayed(1, NAN, 1);
    run->tensors = few;
    run->bad_entry = 1;
    assert_final(run, 3, "not finite in tensor \"t0\"");
    free(run);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(without_a_delay_the_step_leaves_no_trace),
        cmocka_unit_test(with_a_delay_all_begin_anew_from_the_same_weights),
        cmocka_unit_test(settling_finds_what_is_still_under_way),
        cmocka_unit_test(in_shards_a_sum_that_overflows_is_final),
        cmocka_unit_test(in_shards_fewer_weights_than_workers_make_it_final),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

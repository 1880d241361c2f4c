/* When a step fails: everybody hears of it, with its cause, and it leaves nothing behind. */
#include "check.h"

#include <math.h>
#include <string.h>

#include "base/hash.h"
#include "fixture.h"

enum { SIZE = FIXTURE_SIZE };

static const char *const recipes[] = {"ssgd", "topk", "gtopk", "strom"};
enum { RECIPES = 4 };

/* Begin as many steps as may be under way, the first of them with something bad on the odd worker;
 * wait for that one, which fails. */
static enum syn_status fail_steps(struct fixture *fixture, struct syn_reducer *reducer, size_t rank)
{
    static _Thread_local float gradients[16][SIZE];
    struct syn_ticket tickets[16];
    struct syn_merged merged;
    enum syn_status status = SYN_OK;
    for (size_t i = 0; i < fixture->options.depth && status == SYN_OK; i++) {
        scenario_gradient(RANDOM, rank, 90 + i, gradients[i], SIZE);
        if (rank == fixture->odd_one && i == 0)
            gradients[i][450] = fixture->bad;
        status = syn_reducer_begin(reducer, gradients[i], NULL, &tickets[i]);
    }
    if (status != SYN_OK)
        return status;
    status = syn_reducer_wait(reducer, tickets[0], &merged);
    fixture_note(fixture, rank, status);
    for (size_t i = 1; i < fixture->options.depth; i++) /* the others are dropped with it */
        if (syn_reducer_wait(reducer, tickets[i], &merged) != SYN_INVALID)
            fixture->got[rank] = SYN_OK;
    return SYN_OK;
}

/* Three steps, then steps that fail if there is something bad, then three more. The hash is of the
 * good ones. */
static void step_on_something_bad(struct fixture *fixture, struct syn_reducer *reducer, size_t rank)
{
    float gradient[SIZE];
    float sum[SIZE];
    fixture->holds[rank] = true;
    for (size_t i = 0; i < 6; i++) {
        if (i == 3 && fixture->bad != 0)
            fixture->holds[rank] &= fail_steps(fixture, reducer, rank) == SYN_OK &&
                                    syn_reducer_drop(reducer) == SYN_INVALID; /* nothing was made */
        scenario_gradient(RANDOM, rank, i, gradient, SIZE);
        fixture->holds[rank] &= fixture_step(reducer, gradient, NULL, sum) == SYN_OK;
        fixture->hash[rank] = syn_hash(fixture->hash[rank], sum, sizeof sum);
        if (syn_reducer_residual(reducer))
            fixture->hash[rank] =
                syn_hash(fixture->hash[rank], syn_reducer_residual(reducer), sizeof sum);
    }
}

static void assert_failed_without_trace(struct fixture *fixture, size_t workers)
{
    struct fixture untouched = *fixture;
    untouched.bad = 0;
    fixture_run(&untouched, workers, 20000, step_on_something_bad);
    fixture_run(fixture, workers, 20000, step_on_something_bad);
    for (size_t w = 0; w < workers; w++) {
        assert_int_equal(untouched.got[w], SYN_OK);
        assert_int_equal(fixture->got[w], SYN_NONFINITE);
        assert_non_null(strstr(fixture->cause[w], "\"t1\", entry 50"));
        assert_true(fixture->holds[w]);
        assert_true(fixture->hash[w] == untouched.hash[w]);
    }
}

static void a_gradient_that_is_not_finite_fails_everywhere_and_leaves_no_trace(void **state)
{
    (void)state;
    static const float bad[] = {NAN, INFINITY, -INFINITY};
    static const size_t worker_counts[] = {2, 3, 5, 8};
    for (int r = 0; r < RECIPES; r++)
        for (int b = 0; b < 3; b++)
            for (size_t depth = 1; depth <= 3; depth += 2) {
                struct fixture fixture = fixture_for(recipes[r]);
                fixture.bad = bad[b];
                fixture.options.depth = depth;
                fixture.options.bucket_bytes = b == 1 ? 1000 : 0;
                assert_failed_without_trace(&fixture, worker_counts[(r + b) % 4]);
            }
}

/* Every worker has another bad entry, the last worker the first. */
static void all_step_on_something_bad(struct fixture *fixture, struct syn_reducer *reducer,
                                      size_t rank)
{
    float gradient[SIZE];
    float sum[SIZE];
    scenario_gradient(RANDOM, rank, 0, gradient, SIZE);
    gradient[400 + 10 * (fixture->workers - 1 - rank)] = NAN;
    fixture_note(fixture, rank, fixture_step(reducer, gradient, NULL, sum));
}

/* Begin a good step and `depth` - 1 bad ones behind it, wait for the good one, whose merges drop
 * entries, and then for the bad ones, which take the residual back to where it was before them. */
static void fail_behind_a_good_step(struct fixture *fixture, struct syn_reducer *reducer,
                                    size_t rank)
{
    static _Thread_local float gradients[16][SIZE];
    struct syn_ticket tickets[16];
    struct syn_merged merged;
    float sum[SIZE] = {0};
    bool holds = true;
    for (size_t i = 0; i < fixture->options.depth; i++) {
        scenario_gradient(RANDOM, rank, i, gradients[i], SIZE);
        if (rank == fixture->odd_one && i > 0)
            gradients[i][450] = NAN;
        holds &= syn_reducer_begin(reducer, gradients[i], NULL, &tickets[i]) == SYN_OK;
    }
    holds = holds && syn_reducer_wait(reducer, tickets[0], &merged) == SYN_OK;
    if (holds)
        syn_merged_to_dense(&merged, sum, SIZE);
    holds = holds && syn_reducer_wait(reducer, tickets[1], &merged) == SYN_NONFINITE;
    for (size_t e = 0; e < SIZE; e++) {
        fixture->applied[rank] += (double)sum[e];
        fixture->left[rank] += (double)gradients[0][e] - (double)syn_reducer_residual(reducer)[e];
    }
    fixture->holds[rank] = holds;
}

static void what_a_step_took_back_survives_the_failure_of_later_ones(void **state)
{
    (void)state;
    static const char *const putbacks[] = {"merger", "owner"};
    for (int p = 0; p < 2; p++)
        for (size_t depth = 2; depth <= 4; depth++) {
            struct fixture fixture = fixture_for("gtopk");
            fixture.options.depth = depth;
            fixture.options.putback = putbacks[p];
            fixture_run(&fixture, 4, 20000, fail_behind_a_good_step);
            double sent = 0; /* and not taken back */
            for (size_t w = 0; w < 4; w++) {
                assert_int_equal(fixture.got[w], SYN_OK);
                assert_true(fixture.holds[w]);
                sent += fixture.left[w];
            }
            if (fabs(sent - fixture.applied[0]) > 1e-3)
                fail_msg("putback %s, depth %zu: %g left the residuals, %g was applied",
                         putbacks[p], depth, sent, fixture.applied[0]);
        }
}

static void of_several_bad_entries_all_name_the_first(void **state)
{
    (void)state;
    static const size_t worker_counts[] = {1, 2, 3, 5, 8};
    for (int r = 0; r < RECIPES; r++)
        for (int t = 0; t < 5; t++) {
            struct fixture fixture = fixture_for(recipes[r]);
            fixture_run(&fixture, worker_counts[t], 20000, all_step_on_something_bad);
            for (size_t w = 0; w < worker_counts[t]; w++) {
                assert_int_equal(fixture.got[w], SYN_NONFINITE);
                assert_non_null(strstr(fixture.cause[w], "\"t1\", entry 0"));
            }
        }
}

/* Finite gradients whose sum over the workers is not. */
static void add_up_to_infinity(struct fixture *fixture, struct syn_reducer *reducer, size_t rank)
{
    float gradient[SIZE] = {[0] = 1, [430] = 3e38F};
    float sum[SIZE];
    fixture_note(fixture, rank, fixture_step(reducer, gradient, NULL, sum));
    gradient[430] = 1;
    fixture->holds[rank] =
        fixture_step(reducer, gradient, NULL, sum) == SYN_OK && sum[430] == (float)fixture->workers;
}

static void sums_beyond_the_range_of_floats_fail_everywhere(void **state)
{
    (void)state;
    static const char *const exchanges[] = {"ring", "allgather", "gtopk", "gtopk-tree"};
    static const size_t worker_counts[] = {2, 3, 4, 5};
    for (int e = 0; e < 4; e++)
        for (int t = 0; t < 4; t++) {
            struct fixture fixture = fixture_for(e == 0 ? "ssgd" : "topk");
            fixture.options.exchange = exchanges[e];
            fixture_run(&fixture, worker_counts[t], 20000, add_up_to_infinity);
            for (size_t w = 0; w < worker_counts[t]; w++) {
                assert_int_equal(fixture.got[w], SYN_NONFINITE);
                assert_non_null(strstr(fixture.cause[w], "\"t1\", entry 30"));
                assert_true(fixture.holds[w]);
            }
        }
}

/* One entry a step is sent; the other large one waits, and grows beyond the range. */
static void wait_until_infinity(struct fixture *fixture, struct syn_reducer *reducer, size_t rank)
{
    float gradient[SIZE] = {[7] = 3.1e38F, [450] = 3e38F};
    float sum[SIZE];
    fixture->holds[rank] = fixture_step(reducer, gradient, NULL, sum) == SYN_OK;
    fixture_note(fixture, rank, fixture_step(reducer, gradient, NULL, sum));
}

static void a_residual_beyond_the_range_of_floats_is_named(void **state)
{
    (void)state;
    for (int r = 1; r < 3; r++) {
        struct fixture fixture = fixture_for(recipes[r]);
        fixture.options.density = 0;
        fixture_run(&fixture, 1, 20000, wait_until_infinity);
        assert_true(fixture.holds[0]);
        assert_int_equal(fixture.got[0], SYN_NONFINITE);
        assert_non_null(strstr(fixture.cause[0], "\"t1\", entry 50"));
    }
}

static void fail_in_the_second_step(struct fixture *fixture, struct syn_reducer *reducer,
                                    size_t rank)
{
    float gradient[SIZE];
    float sum[SIZE];
    scenario_gradient(RANDOM, rank, 0, gradient, SIZE);
    fixture->holds[rank] = fixture_step(reducer, gradient, NULL, sum) == SYN_OK;
    if (rank != fixture->odd_one) { /* twice: the failure is final */
        fixture_note(fixture, rank, fixture_step(reducer, gradient, NULL, sum));
        fixture->holds[rank] &= fixture_step(reducer, gradient, NULL, sum) != SYN_OK;
    }
}

static void a_worker_that_stops_is_named_by_all_others(void **state)
{
    (void)state;
    for (int r = 0; r < RECIPES; r++) {
        struct fixture fixture = fixture_for(recipes[r]);
        fixture_run(&fixture, 5, 200, fail_in_the_second_step);
        for (size_t w = 0; w < 5; w++) {
            assert_true(fixture.holds[w]);
            if (w == fixture.odd_one)
                continue;
            assert_int_equal(fixture.got[w], SYN_TIMEOUT);
            assert_non_null(strstr(fixture.cause[w], "worker 1"));
        }
    }
}

/* The odd worker closes when only the last of its tensors is ready. Its gradient outlives this
 * function, for the fixture closes the reducer behind it, and until then peers may still read
 * it. */
static void close_in_the_middle(struct fixture *fixture, struct syn_reducer *reducer, size_t rank)
{
    static float gradients[WORKERS_MOST][SIZE];
    float *gradient = gradients[rank];
    struct syn_ticket ticket;
    float sum[SIZE];
    scenario_gradient(RANDOM, rank, 0, gradient, SIZE);
    if (rank == fixture->odd_one) {
        syn_reducer_start(reducer, gradient, NULL, &ticket);
        syn_reducer_ready(reducer, 2);
    } else {
        fixture_note(fixture, rank, fixture_step(reducer, gradient, NULL, sum));
    }
}

static void closing_in_the_middle_of_a_step_is_told_to_the_others(void **state)
{
    (void)state;
    for (int r = 0; r < RECIPES; r++) {
        struct fixture fixture = fixture_for(recipes[r]);
        fixture.options.bucket_bytes = 100;
        fixture_run(&fixture, 3, 20000, close_in_the_middle);
        for (size_t w = 0; w < 3; w += 2) {
            assert_int_equal(fixture.got[w], SYN_PEER);
            assert_non_null(strstr(fixture.cause[w], "worker 1 failed: closed"));
        }
    }
}

/* The odd worker asks for another density, against the contract. */
static void step_differently(struct fixture *fixture, struct syn_reducer *reducer, size_t rank)
{
    float gradient[SIZE];
    float sum[SIZE];
    struct syn_step step = syn_reducer_step(reducer);
    step.density = rank == fixture->odd_one ? 0.01 : 0.05;
    scenario_gradient(RANDOM, rank, 0, gradient, SIZE);
    fixture_note(fixture, rank, fixture_step(reducer, gradient, &step, sum));
}

static void a_step_that_differs_between_workers_is_found_and_told(void **state)
{
    (void)state;
    struct fixture fixture = fixture_for("gtopk");
    fixture_run(&fixture, 3, 20000, step_differently);
    /* Workers 0 and 1 see each other's packets; worker 2 waits for worker 0's result. */
    for (size_t w = 0; w < 2; w++) {
        assert_true(fixture.got[w] == SYN_FORMAT || fixture.got[w] == SYN_PEER);
        assert_non_null(strstr(fixture.cause[w], "limit is"));
    }
    assert_int_equal(fixture.got[2], SYN_PEER);
    assert_non_null(strstr(fixture.cause[2], "limit is"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_gradient_that_is_not_finite_fails_everywhere_and_leaves_no_trace),
        cmocka_unit_test(what_a_step_took_back_survives_the_failure_of_later_ones),
        cmocka_unit_test(of_several_bad_entries_all_name_the_first),
        cmocka_unit_test(sums_beyond_the_range_of_floats_fail_everywhere),
        cmocka_unit_test(a_residual_beyond_the_range_of_floats_is_named),
        cmocka_unit_test(a_worker_that_stops_is_named_by_all_others),
        cmocka_unit_test(closing_in_the_middle_of_a_step_is_told_to_the_others),
        cmocka_unit_test(a_step_that_differs_between_workers_is_found_and_told),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

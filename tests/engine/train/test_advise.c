/* Advice is arithmetic on what was measured: here the measurements are made up. */
#include "check.h"

#include <math.h>
#include <string.h>

#include "engine/train/advise/advise.h"

enum { PARAMS = 431080 }; /* LeNet */

/* Four workers that compute for 25 ms, on links of that rate. */
static struct syn_advice measured(double mbit_per_s)
{
    struct syn_advice advice;
    memset(&advice, 0, sizeof advice);
    double message_ms = 4.0 * PARAMS / 4 / (mbit_per_s * 125);
    advice.workers = 4;
    advice.params = PARAMS;
    advice.alone_ms = advice.compute_ms = advice.together_ms = advice.sparse_ms = 25;
    advice.delayed_ms = 27;
    advice.links = (struct syn_links_measure){.latency_ms = 0.1,
                                              .worst_latency_ms = 0.1,
                                              .bytes_per_ms = mbit_per_s * 125,
                                              .worst_bytes_per_ms = mbit_per_s * 125,
                                              .together_latency_ms = 0.1,
                                              .together_ms = message_ms + 0.1,
                                              .rested_ms = message_ms + 0.1};
    return advice;
}

static struct syn_advice advice_on(struct syn_advice links, const char *optimizer,
                                   uint64_t dense_below, uint64_t steps)
{
    struct syn_train_options options;
    struct syn_length length = {.steps = steps, .steps_per_epoch = 235};
    assert_ok(syn_train_defaults("lenet", &options));
    options.workers = 4;
    options.worker.optimizer.optimizer = optimizer;
    options.worker.reducer.dense_below = dense_below;
    assert_ok(syn_advise_predict(&options, length, &links));
    return links;
}

static struct syn_advice advice_with(const char *optimizer, uint64_t dense_below, double mbit_per_s,
                                     uint64_t steps)
{
    return advice_on(measured(mbit_per_s), optimizer, dense_below, steps);
}

static struct syn_advice advice_for(double mbit_per_s, uint64_t steps)
{
    return advice_with("sgd", 0, mbit_per_s, steps);
}

static const struct syn_advice_row *row_of(const struct syn_advice *advice, const char *name)
{
    for (size_t i = 0; i < advice->count; i++)
        if (strcmp(advice->rows[i].name, name) == 0)
            return &advice->rows[i];
    fail_msg("no row for %s", name);
    return NULL;
}

static void check_close(double got, double expected, double tolerance)
{
    if (fabs(got - expected) > tolerance)
        fail_msg("%.9g, expected %.9g within %.3g", got, expected, tolerance);
}

static const char *best_of(const struct syn_advice *advice)
{
    return advice->rows[advice->best].name;
}

static void a_link_that_carries_everything_needs_no_method(void **state)
{
    (void)state;
    struct syn_advice advice = advice_for(100000, 2000);
    assert_string_equal(best_of(&advice), "ssgd");
    assert_true(advice.is_dense_fine);
}

/* gtopk's steps are shorter there, but more of them are needed. */
static void what_fits_is_chosen_though_sparse_steps_are_shorter(void **state)
{
    (void)state;
    struct syn_advice advice = advice_for(60, 2000);
    assert_true(row_of(&advice, "strom")->step_ms < row_of(&advice, "fit")->step_ms);
    assert_string_equal(best_of(&advice), "fit");
}

static void methods_without_a_warm_up_take_the_same_time_in_every_step(void **state)
{
    (void)state;
    struct syn_advice advice = advice_for(10, 2000);
    const char *const names[] = {"ssgd", "strom"};
    for (size_t i = 0; i < 2; i++) {
        const struct syn_advice_row *row = row_of(&advice, names[i]);
        check_close(row->run_ms, row->step_ms, 1e-9 * row->step_ms);
    }
}

/* od-sgd waits for its sums in the first 200 steps, or in a tenth of the run if that is less. */
static void a_delay_that_has_not_begun_counts_as_waiting(void **state)
{
    (void)state;
    struct syn_advice brief = advice_for(100, 500);
    struct syn_advice lasting = advice_for(100, 20000);
    const struct syn_advice_row *tenth = row_of(&brief, "od-sgd");
    const struct syn_advice_row *hundredth = row_of(&lasting, "od-sgd");
    double waiting = (tenth->run_ms - 0.9 * tenth->step_ms) / 0.1;
    assert_true(waiting > 1.05 * tenth->step_ms);
    check_close(hundredth->run_ms, 0.99 * hundredth->step_ms + 0.01 * waiting, 1e-6);
}

/* The density of LeNet falls for half an epoch, a fifth of the run at most, in four equal parts. */
static void densities_that_still_fall_count(void **state)
{
    (void)state;
    struct syn_advice brief = advice_for(100, 235);
    struct syn_advice lasting = advice_for(100, 235000);
    const struct syn_advice_row *fifth = row_of(&brief, "gtopk");
    const struct syn_advice_row *nothing = row_of(&lasting, "gtopk");
    double falling = (fifth->run_ms - 0.8 * fifth->step_ms) / 0.2;
    double steps = floor(0.5 * 235); /* or half a step more, as parts end at whole ones */
    double expected = nothing->step_ms + steps / 235000 * (falling - nothing->step_ms);
    assert_true(falling > 1.2 * fifth->step_ms);
    check_close(nothing->run_ms, expected, 0.05 * (expected - nothing->step_ms) + 1e-9);
}

/* Sparse and late gradients are wrong for AdamW; local steps are not. */
static void for_adamw_local_steps_are_proposed_and_nothing_sparse_or_late(void **state)
{
    (void)state;
    static const char *const optimizers[] = {"adamw", "lamb"};
    for (size_t i = 0; i < 2; i++) {
        struct syn_advice slow = advice_with(optimizers[i], 0, 10, 2000);
        struct syn_advice fast = advice_with(optimizers[i], 0, 100000, 2000);
        assert_int_equal(slow.count, 2);
        assert_string_equal(best_of(&slow), "diloco");
        assert_true(row_of(&slow, "diloco")->step_ms < row_of(&slow, "ssgd")->step_ms / 5);
        assert_string_equal(best_of(&fast), "ssgd");
    }
    struct syn_advice sgd = advice_for(10, 2000);
    for (size_t i = 0; i < sgd.count; i++)
        assert_string_not_equal(sgd.rows[i].name, "diloco");
}

/* Around the ring the slow pair is not used. */
static void a_slow_pair_slows_down_the_methods_that_use_it(void **state)
{
    (void)state;
    static const char *const lists[] = {"topk", "gtopk", "strom"};
    struct syn_advice links = measured(100);
    links.links.worst_bytes_per_ms = 125; /* 1 Mbit/s */
    links.links.worst_latency_ms = 20;
    struct syn_advice even = advice_on(measured(100), "sgd", 0, 2000);
    struct syn_advice uneven = advice_on(links, "sgd", 0, 2000);
    for (size_t i = 0; i < 3; i++)
        assert_true(row_of(&uneven, lists[i])->step_ms > row_of(&even, lists[i])->step_ms + 20);
    check_close(row_of(&uneven, "ssgd")->step_ms, row_of(&even, "ssgd")->step_ms, 1e-9);
    check_close(row_of(&uneven, "od-sgd")->step_ms, row_of(&even, "od-sgd")->step_ms, 1e-9);
}

/* strom cannot send single tensors whole. */
static void methods_that_the_settings_do_not_allow_are_left_out(void **state)
{
    (void)state;
    struct syn_advice advice = advice_with("sgd", 1000, 10, 2000);
    for (size_t i = 0; i < advice.count; i++)
        assert_string_not_equal(advice.rows[i].name, "strom");
    assert_non_null(row_of(&advice, "gtopk"));
    assert_string_not_equal(best_of(&advice), "ssgd");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_link_that_carries_everything_needs_no_method),
        cmocka_unit_test(what_fits_is_chosen_though_sparse_steps_are_shorter),
        cmocka_unit_test(methods_without_a_warm_up_take_the_same_time_in_every_step),
        cmocka_unit_test(a_delay_that_has_not_begun_counts_as_waiting),
        cmocka_unit_test(densities_that_still_fall_count),
        cmocka_unit_test(a_slow_pair_slows_down_the_methods_that_use_it),
        cmocka_unit_test(methods_that_the_settings_do_not_allow_are_left_out),
        cmocka_unit_test(for_adamw_local_steps_are_proposed_and_nothing_sparse_or_late),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

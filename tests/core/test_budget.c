/* What fits, on simulated clocks: a link of so many milliseconds per bit and message, workers that
 * compute so long. */
#include "check.h"

#include <math.h>
#include <string.h>

#include "worker/budget.h"

enum { WORKERS = 3, SIZE = 5000000 };

static const struct syn_budget_setup usual = {.keep = 2, .workers = WORKERS, .size = SIZE};

struct world {
    struct syn_budget_setup setup;
    double compute_ms;
    double latency_ms;
    double ms_per_bit; /* per parameter */
    double stall_ms;   /* of one step in each window */
    double work_ms;    /* processor time of an exchange of everything in q4 */
    bool has_core_to_spare;
    unsigned random;
};

static struct world world_of(double compute_ms, double dense_ms)
{
    return (struct world){
        .setup =
            {.overhead = 0.03, .is_delayed = true, .keep = 2, .workers = WORKERS, .size = SIZE},
        .compute_ms = compute_ms,
        .latency_ms = 0.2,
        .ms_per_bit = dense_ms / 32,
        .random = 1,
    };
}

/* From 0.97 to 1.03, the same in every run. */
static double noise(struct world *world)
{
    world->random = world->random * 1664525U + 1013904223U;
    return 0.97 + 0.06 * (double)(world->random >> 8) / (double)(1 << 24);
}

static double exchange_ms(const struct world *world, size_t level)
{
    return world->latency_ms + world->ms_per_bit * syn_budget_bits(&world->setup, level);
}

/* How long a step takes at that level, over computing. */
static double overhead_at(const struct world *world, size_t level)
{
    return fmax(0, exchange_ms(world, level) / world->compute_ms - 1);
}

static double work_ms(const struct world *world, size_t level)
{
    return world->work_ms * syn_budget_work(&world->setup, level);
}

/* Short lists go to every worker, longer ones to owners: more of the bytes of either, as many
 * workers as there are. */
static void bits_are_those_of_the_way_that_a_list_takes(void **state)
{
    (void)state;
    struct syn_budget_setup setup = {.keep = 2, .workers = 4, .size = 1000000};
    size_t last = SYN_BUDGET_LEVELS - 1; /* 1000 entries, 3000 to the others */
    double gathered = syn_budget_bits(&setup, last);
    setup.size = 10000000;
    double split = syn_budget_bits(&setup, last);
    assert_true(fabs(gathered / split - 4.0 / 3) < 1e-9);
    setup.workers = 16;
    setup.size = 100000; /* 100 entries, but many workers */
    assert_true(syn_budget_bits(&setup, last) == split);
    setup.keep = 0;
    assert_true(fabs(syn_budget_bits(&setup, last) / split - 17.0 / 3) < 1e-9);
}

static void live_through(struct world *world, struct syn_budget *budget, size_t decisions)
{
    struct syn_budget_sample samples[WORKERS][SYN_BUDGET_STEPS];
    for (size_t d = 0; d < decisions; d++) {
        for (size_t s = 0; s < SYN_BUDGET_STEPS; s++)
            for (size_t w = 0; w < WORKERS; w++) {
                double compute = world->compute_ms * noise(world);
                double exchange = exchange_ms(world, budget->level) * noise(world);
                exchange += s == 3 ? world->stall_ms : 0;
                double work = work_ms(world, budget->level);
                double held_up = world->has_core_to_spare ? 0 : work;
                samples[w][s] =
                    (struct syn_budget_sample){.compute = (float)(compute + held_up),
                                               .exchange = (float)exchange,
                                               .wait = (float)fmax(0, exchange - world->compute_ms),
                                               .busy = (float)compute,
                                               .work = (float)work};
            }
        syn_budget_decide(budget, &world->setup, samples[0]);
        assert_true(syn_budget_is_sound(budget));
    }
}

static void levels_are_ever_poorer_and_bounded(void **state)
{
    (void)state;
    for (size_t level = 1; level < SYN_BUDGET_LEVELS; level++) {
        assert_true(syn_budget_bits(&usual, level) < syn_budget_bits(&usual, level - 1));
        assert_true(syn_budget_density(level) <= syn_budget_density(level - 1));
        if (level != SYN_BUDGET_FIRST + 1) /* the longest list */
            assert_true(syn_budget_work(&usual, level) < syn_budget_work(&usual, level - 1));
    }
    assert_true(syn_budget_work(&usual, SYN_BUDGET_FIRST) == 1);
    assert_true(syn_budget_work(&usual, SYN_BUDGET_FIRST + 1) > 3);
    assert_true(syn_budget_density(SYN_BUDGET_LEVELS - 1) == 0.001);
    assert_string_equal(syn_budget_values(0), "f32");
    assert_string_equal(syn_budget_values(1), "q8");
    assert_string_equal(syn_budget_values(SYN_BUDGET_FIRST), "q4");
}

/* By hand: of eight steps the fourth and the fifth are in the middle; worker 1 computes for
 * longest, and worker 2 has waited for nobody in its exchanges. */
static void a_decision_sees_the_slowest_computing_and_the_quickest_exchange(void **state)
{
    (void)state;
    struct syn_budget_sample samples[WORKERS][SYN_BUDGET_STEPS];
    struct syn_budget budget = syn_budget_begin();
    struct world world = world_of(1, 1);
    for (size_t w = 0; w < WORKERS; w++)
        for (size_t s = 0; s < SYN_BUDGET_STEPS; s++)
            samples[w][s] = (struct syn_budget_sample){
                .compute = (float)(10 * (s + 1) + (w == 1 ? 5 : 0)),
                .exchange = (float)(8 - s + (w == 2 ? 0 : 1)),
            };
    syn_budget_decide(&budget, &world.setup, samples[0]);
    assert_true(budget.compute_ms == (45 + 55) / 2.0);
    assert_true(budget.exchange_ms == (5 + 4) / 2.0);
}

static void a_link_that_has_become_faster_is_tried_without_patience(void **state)
{
    (void)state;
    struct world world = world_of(28, 2000);
    struct syn_budget budget = syn_budget_begin();
    live_through(&world, &budget, 10);
    assert_true(budget.patience > 1);
    world.ms_per_bit /= 1000;
    live_through(&world, &budget, 1);
    assert_int_equal(budget.patience, 1);
    assert_int_equal(budget.hold, 0);
}

/* The richest form that fits, give or take what noise and margins cost, on links a thousand times
 * slower than others. */
static void what_fits_is_found_on_any_link(void **state)
{
    (void)state;
    static const double dense_ms[] = {1, 20, 50, 150, 500, 2000, 10000};
    for (size_t i = 0; i < sizeof dense_ms / sizeof dense_ms[0]; i++) {
        struct world world = world_of(28, dense_ms[i]);
        struct syn_budget budget = syn_budget_begin();
        size_t best = 0;
        while (best + 1 < SYN_BUDGET_LEVELS && overhead_at(&world, best) > 0.03)
            best++;
        live_through(&world, &budget, 30);
        if (overhead_at(&world, budget.level) > 0.03 && budget.level + 1 < SYN_BUDGET_LEVELS)
            fail_msg("dense takes %g ms: level %u is %g too long", dense_ms[i], budget.level,
                     overhead_at(&world, budget.level));
        if (budget.level > best + 1)
            fail_msg("dense takes %g ms: level %u, but %zu fits", dense_ms[i], budget.level, best);
    }
}

static void a_link_that_carries_everything_gets_everything(void **state)
{
    (void)state;
    struct world world = world_of(100, 10);
    struct syn_budget budget = syn_budget_begin();
    live_through(&world, &budget, 5);
    assert_int_equal(budget.level, 0);
    live_through(&world, &budget, 100);
    assert_int_equal(budget.level, 0);
}

static void a_decision_moves_a_little_at_a_time(void **state)
{
    (void)state;
    struct world world = world_of(28, 50000);
    struct syn_budget budget = syn_budget_begin();
    for (size_t i = 0; i < 40; i++) {
        uint32_t before = budget.level;
        world.ms_per_bit = i < 20 ? 50000 : 0.001;
        live_through(&world, &budget, 1);
        bool skips_lists = before > SYN_BUDGET_FIRST && budget.level <= SYN_BUDGET_FIRST &&
                           syn_budget_work(&usual, before - 2) >= 1;
        assert_true(budget.level <= before + 6);
        assert_true(before <= budget.level + 2 || skips_lists);
    }
    assert_int_equal(budget.level, 0);
}

static void a_stall_of_ten_seconds_changes_nothing(void **state)
{
    (void)state;
    struct world world = world_of(28, 100);
    struct syn_budget budget = syn_budget_begin();
    live_through(&world, &budget, 30);
    uint32_t before = budget.level;
    world.stall_ms = 10000;
    live_through(&world, &budget, 1);
    assert_int_equal(budget.level, before);
}

static void it_recovers_when_all_steps_have_stalled(void **state)
{
    (void)state;
    struct world world = world_of(28, 100);
    struct syn_budget budget = syn_budget_begin();
    live_through(&world, &budget, 30);
    uint32_t before = budget.level;
    world.latency_ms = 10000;
    live_through(&world, &budget, 5);
    assert_int_equal(budget.level, SYN_BUDGET_LEVELS - 1);
    world.latency_ms = 0.2;
    live_through(&world, &budget, 15);
    assert_true(budget.level <= before + 1);
}

static void it_follows_computing_that_jumps_tenfold(void **state)
{
    (void)state;
    struct world world = world_of(28, 500);
    struct syn_budget budget = syn_budget_begin();
    live_through(&world, &budget, 30);
    uint32_t slow = budget.level;
    world.compute_ms = 280;
    live_through(&world, &budget, 12);
    assert_true(budget.level < slow && overhead_at(&world, budget.level) <= 0.03);
    world.compute_ms = 28;
    live_through(&world, &budget, 4);
    assert_true(overhead_at(&world, budget.level) <= 0.03);
}

/* Between two forms a controller could swing for ever. */
static void it_settles(void **state)
{
    (void)state;
    for (double dense_ms = 20; dense_ms < 4000; dense_ms *= 1.07) {
        struct world world = world_of(28, dense_ms);
        struct syn_budget budget = syn_budget_begin();
        size_t changes = 0;
        live_through(&world, &budget, 40);
        for (size_t i = 0; i < 100; i++) {
            uint32_t before = budget.level;
            live_through(&world, &budget, 1);
            changes += budget.level != before;
        }
        if (changes > 12)
            fail_msg("dense takes %g ms: %zu changes in 100 decisions", dense_ms, changes);
    }
}

static void without_a_delay_the_overhead_is_all_there_is(void **state)
{
    (void)state;
    struct world world = world_of(100, 32);
    struct syn_budget budget = syn_budget_begin();
    world.setup.is_delayed = false;
    world.setup.overhead = 0.1;
    live_through(&world, &budget, 40);
    double exchange = exchange_ms(&world, budget.level);
    assert_true(exchange <= 10.5 && exchange > 2);
}

/* A link that carries everything, but an exchange whose work takes the core from computing. */
static void work_that_computing_pays_for_counts_as_time(void **state)
{
    (void)state;
    struct world world = world_of(20, 1);
    world.work_ms = 2;
    struct syn_budget budget = syn_budget_begin();
    live_through(&world, &budget, 40);
    assert_true(work_ms(&world, budget.level) <= 1.25 * 0.03 * 20);
    assert_true(work_ms(&world, budget.level) > 0.01 * 20);
}

/* Where the poorest form already takes more than the overhead allows, no richer one is taken. */
static void the_work_of_the_poorest_form_counts_as_well(void **state)
{
    (void)state;
    struct world world = world_of(20, 1);
    world.work_ms = 5;
    struct syn_budget budget = syn_budget_begin();
    live_through(&world, &budget, 10);
    for (int i = 0; i < 100; i++) {
        live_through(&world, &budget, 1);
        assert_int_equal(budget.level, SYN_BUDGET_LEVELS - 1);
    }
}

/* A link that carries everything in four bits, and an exchange whose work is a little or far too
 * much for computing. */
static struct world busy_world(double work_ms)
{
    struct world world = world_of(100, 400);
    world.work_ms = work_ms;
    return world;
}

static void a_little_too_much_work_is_within_the_noise(void **state)
{
    (void)state;
    struct world world = busy_world(3.4);
    struct syn_budget budget = syn_budget_begin();
    live_through(&world, &budget, 100);
    assert_int_equal(budget.level, SYN_BUDGET_FIRST);
}

/* Lists that take more work than everything in four bits would make it worse. */
static void lists_that_take_more_work_than_everything_are_skipped(void **state)
{
    (void)state;
    struct world world = busy_world(8);
    struct syn_budget budget = syn_budget_begin();
    for (size_t i = 0; i < 100; i++) {
        if (i == 50)
            world.work_ms = 1.5;
        live_through(&world, &budget, 1);
        if (budget.level != SYN_BUDGET_FIRST && syn_budget_work(&usual, budget.level) >= 1)
            fail_msg("decision %zu: level %u takes %g times the work", i, budget.level,
                     syn_budget_work(&usual, budget.level));
        if (i == 49 && work_ms(&world, budget.level) > 3.75)
            fail_msg("level %u takes %g ms of work", budget.level, work_ms(&world, budget.level));
    }
    assert_int_equal(budget.level, SYN_BUDGET_FIRST);
}

/* On a link that carries it, it is not given up for a fiftieth of the entries at three quarters of
 * its work, and is returned to from there. */
static void everything_in_four_bits_may_take_more_of_the_processor(void **state)
{
    (void)state;
    struct world world = busy_world(5);
    struct syn_budget budget = syn_budget_begin();
    for (size_t i = 0; i < 60; i++) {
        live_through(&world, &budget, 1);
        assert_int_equal(budget.level, SYN_BUDGET_FIRST);
    }
    world.work_ms = 4;
    budget.level = 12;
    live_through(&world, &budget, 60);
    assert_int_equal(budget.level, SYN_BUDGET_FIRST);
}

static void on_a_slow_link_lists_are_used_whatever_work_they_take(void **state)
{
    (void)state;
    struct world world = world_of(100, 1200);
    world.work_ms = 0.5;
    struct syn_budget budget = syn_budget_begin();
    live_through(&world, &budget, 60);
    assert_true(syn_budget_density(budget.level) < 1 && syn_budget_work(&usual, budget.level) > 1);
}

static void work_on_a_core_of_its_own_costs_nothing(void **state)
{
    (void)state;
    struct world world = world_of(20, 1);
    world.work_ms = 2;
    world.has_core_to_spare = true;
    struct syn_budget budget = syn_budget_begin();
    live_through(&world, &budget, 10);
    assert_true(budget.level <= 1);
}

static void the_same_times_give_the_same_decisions(void **state)
{
    (void)state;
    struct world worlds[2] = {world_of(28, 300), world_of(28, 300)};
    struct syn_budget budgets[2] = {syn_budget_begin(), syn_budget_begin()};
    for (int i = 0; i < 2; i++)
        live_through(&worlds[i], &budgets[i], 50);
    assert_memory_equal(&budgets[0], &budgets[1], sizeof budgets[0]);
}

static void clocks_that_stand_still_decide_nothing(void **state)
{
    (void)state;
    struct world world = world_of(28, 300);
    struct syn_budget budget = syn_budget_begin();
    struct syn_budget_sample none[WORKERS * SYN_BUDGET_STEPS] = {{0}};
    syn_budget_decide(&budget, &world.setup, none);
    assert_int_equal(budget.level, SYN_BUDGET_FIRST);
    for (size_t i = 0; i < WORKERS * SYN_BUDGET_STEPS; i++)
        none[i] = (struct syn_budget_sample){NAN, INFINITY, NAN, NAN, NAN};
    syn_budget_decide(&budget, &world.setup, none);
    assert_true(syn_budget_is_sound(&budget));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(levels_are_ever_poorer_and_bounded),
        cmocka_unit_test(a_decision_sees_the_slowest_computing_and_the_quickest_exchange),
        cmocka_unit_test(a_link_that_has_become_faster_is_tried_without_patience),
        cmocka_unit_test(bits_are_those_of_the_way_that_a_list_takes),
        cmocka_unit_test(what_fits_is_found_on_any_link),
        cmocka_unit_test(a_link_that_carries_everything_gets_everything),
        cmocka_unit_test(a_decision_moves_a_little_at_a_time),
        cmocka_unit_test(a_stall_of_ten_seconds_changes_nothing),
        cmocka_unit_test(it_recovers_when_all_steps_have_stalled),
        cmocka_unit_test(it_follows_computing_that_jumps_tenfold),
        cmocka_unit_test(it_settles),
        cmocka_unit_test(without_a_delay_the_overhead_is_all_there_is),
        cmocka_unit_test(work_that_computing_pays_for_counts_as_time),
        cmocka_unit_test(the_work_of_the_poorest_form_counts_as_well),
        cmocka_unit_test(a_little_too_much_work_is_within_the_noise),
        cmocka_unit_test(lists_that_take_more_work_than_everything_are_skipped),
        cmocka_unit_test(everything_in_four_bits_may_take_more_of_the_processor),
        cmocka_unit_test(on_a_slow_link_lists_are_used_whatever_work_they_take),
        cmocka_unit_test(work_on_a_core_of_its_own_costs_nothing),
        cmocka_unit_test(the_same_times_give_the_same_decisions),
        cmocka_unit_test(clocks_that_stand_still_decide_nothing),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

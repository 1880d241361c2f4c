/* The simulator against closed forms where there are any, and against what must hold where there
 * are none. */
#include "check.h"

#include <math.h>
#include <string.h>

#include <syncopate/recipe.h>
#include <syncopate/simulate.h>

#define LATENCY_MS 0.25
#define RATE       1000.0 /* bytes a ms */
#define COMPUTE_MS 10.0

static struct syn_cluster cluster_of(size_t workers, size_t servers)
{
    return (struct syn_cluster){.workers = workers,
                                .servers = servers,
                                .latency_ms = LATENCY_MS,
                                .bytes_per_ms = RATE,
                                .compute_ms = COMPUTE_MS,
                                .seed = 1,
                                .steps = 12};
}

static struct syn_traffic traffic_of(const char *pattern, enum syn_timing timing, double bytes)
{
    return (struct syn_traffic){
        .pattern = pattern, .timing = timing, .pull_every = 1, .bytes = bytes, .pull_bytes = bytes};
}

static double step_ms(struct syn_cluster cluster, struct syn_traffic traffic)
{
    struct syn_simulation result;
    assert_ok(syn_simulate(&cluster, &traffic, &result));
    assert_true(result.step_ms > 0);
    return result.step_ms;
}

static void assert_near(double got, double expected)
{
    if (fabs(got - expected) > 1e-9 * expected)
        fail_msg("%.12g ms; expected %.12g ms", got, expected);
}

static void ring_takes_what_its_formula_says(void **state)
{
    (void)state;
    const size_t sizes[] = {1, 2, 3, 5, 7, 8, 64};
    for (size_t i = 0; i < sizeof sizes / sizeof sizes[0]; i++) {
        double p = (double)sizes[i];
        double expected = COMPUTE_MS + 2 * (p - 1) * (LATENCY_MS + 4000 / p / RATE);
        assert_near(step_ms(cluster_of(sizes[i], 0), traffic_of("ring", SYN_TIMING_SYNC, 4000)),
                    expected);
    }
}

static void allgather_takes_what_its_formula_says(void **state)
{
    (void)state;
    const size_t sizes[] = {2, 3, 5, 7, 8, 64};
    for (size_t i = 0; i < sizeof sizes / sizeof sizes[0]; i++) {
        double p = (double)sizes[i];
        double expected = COMPUTE_MS + LATENCY_MS + (p - 1) * 300 / RATE;
        assert_near(step_ms(cluster_of(sizes[i], 0), traffic_of("allgather", SYN_TIMING_SYNC, 300)),
                    expected);
    }
}

/* As the exchange itself: few entries go to every worker, more to owners. */
static void lists_of_a_step_take_the_way_that_suits_their_length(void **state)
{
    (void)state;
    static const struct {
        size_t entries;
        const char *way;
    } cases[] = {{100, "allgather"}, {100000, "split"}};
    for (int i = 0; i < 2; i++) {
        struct syn_traffic adaptive = traffic_of("adaptive", SYN_TIMING_SYNC, 300);
        struct syn_traffic list = traffic_of(cases[i].way, SYN_TIMING_SYNC, 300);
        adaptive.entries = cases[i].entries;
        assert_near(step_ms(cluster_of(5, 0), adaptive), step_ms(cluster_of(5, 0), list));
    }
}

/* Pieces, which their owners add up, and sums: of all lists, or of as many entries as are kept. */
static void split_takes_what_its_formula_says(void **state)
{
    (void)state;
    const size_t sizes[] = {2, 3, 8, 64};
    const double kept[] = {300, 1e9};
    for (size_t i = 0; i < 8; i++) {
        double p = (double)sizes[i / 2];
        struct syn_traffic traffic = traffic_of("split", SYN_TIMING_SYNC, 300);
        traffic.pull_bytes = kept[i % 2];
        traffic.merge_ms = 2.5;
        double sums = i % 2 ? p * 300 : 300;
        double expected = COMPUTE_MS + 2 * LATENCY_MS + (p - 1) / p * (300 + sums) / RATE + 2.5;
        assert_near(step_ms(cluster_of(sizes[i / 2], 0), traffic), expected);
    }
}

static double gtopk_ms(size_t workers)
{
    return step_ms(cluster_of(workers, 0), traffic_of("gtopk", SYN_TIMING_SYNC, 300));
}

static void gtopk_takes_its_rounds(void **state)
{
    (void)state;
    for (size_t rounds = 0; rounds < 7; rounds++)
        assert_near(gtopk_ms((size_t)1 << rounds),
                    COMPUTE_MS + (double)rounds * (LATENCY_MS + 300 / RATE));
}

/* Folding takes a hop before the rounds and one after them. While it goes on, lists of workers that
 * have no guest may cross the network already and share a link with a guest's, and those who were
 * held up by this may meet others so. */
static void gtopk_takes_about_two_hops_more_for_other_numbers(void **state)
{
    (void)state;
    const size_t sizes[] = {3, 5, 6, 7, 9, 11, 33, 63};
    double hop = LATENCY_MS + 300 / RATE;
    for (size_t i = 0; i < sizeof sizes / sizeof sizes[0]; i++) {
        double rounds = floor(log2((double)sizes[i]));
        double more = gtopk_ms(sizes[i]) - COMPUTE_MS - rounds * hop;
        double most = 2 * hop + 2 * 300 / RATE;
        if (more < hop || more > most)
            fail_msg("%zu workers: %g ms more; expected %g to %g", sizes[i], more, hop, most);
    }
}

static void gtopk_tree_goes_up_and_down(void **state)
{
    (void)state;
    const struct {
        size_t workers;
        double hops;
    } cases[] = {{1, 0}, {2, 2}, {4, 4}, {8, 6}, {32, 10}};
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++)
        assert_near(step_ms(cluster_of(cases[i].workers, 0),
                            traffic_of("gtopk-tree", SYN_TIMING_SYNC, 300)),
                    COMPUTE_MS + cases[i].hops * (LATENCY_MS + 300 / RATE));
}

static void gtopk_tree_ends_with_odd_numbers_of_workers(void **state)
{
    (void)state;
    const size_t sizes[] = {3, 5, 6, 7, 11};
    for (size_t i = 0; i < sizeof sizes / sizeof sizes[0]; i++) {
        double rounds = ceil(log2((double)sizes[i]));
        double most = COMPUTE_MS + 2 * rounds * (LATENCY_MS + 300 / RATE);
        double got =
            step_ms(cluster_of(sizes[i], 0), traffic_of("gtopk-tree", SYN_TIMING_SYNC, 300));
        assert_true(got > COMPUTE_MS && got < most + 1e-9);
    }
}

/* All workers push at once, all are answered at once: the servers' links are used one way at a
 * time. */
static void servers_hear_all_workers_and_then_answer_all(void **state)
{
    (void)state;
    const size_t servers[] = {1, 2, 4};
    for (size_t i = 0; i < sizeof servers / sizeof servers[0]; i++) {
        double all_ms = 8 * 4000 / (double)servers[i] / RATE;
        assert_near(
            step_ms(cluster_of(8, servers[i]), traffic_of("servers", SYN_TIMING_SYNC, 4000)),
            COMPUTE_MS + 2 * (LATENCY_MS + all_ms));
    }
}

/* They answer with weights, however short the pushes were. */
static void pulls_from_servers_take_as_long_as_their_own_bytes(void **state)
{
    (void)state;
    const size_t servers[] = {1, 2, 4};
    for (size_t i = 0; i < sizeof servers / sizeof servers[0]; i++) {
        double push_ms = 4000 / (double)servers[i] / RATE;
        struct syn_traffic traffic = traffic_of("servers", SYN_TIMING_SYNC, 4000);
        traffic.pull_bytes = 40000;
        assert_near(step_ms(cluster_of(8, servers[i]), traffic),
                    COMPUTE_MS + 2 * LATENCY_MS + 8 * (push_ms + 10 * push_ms));
        /* One worker alone, asynchronous: the first answer comes while it pushes the rest. */
        traffic.timing = SYN_TIMING_ASYNC;
        assert_near(step_ms(cluster_of(1, servers[i]), traffic),
                    COMPUTE_MS + 2 * LATENCY_MS + push_ms + 40000 / RATE);
    }
}

/* Each server adds up its share of every worker's gradient. */
static void servers_share_the_work_of_merging(void **state)
{
    (void)state;
    const size_t servers[] = {1, 2, 4};
    for (size_t i = 0; i < sizeof servers / sizeof servers[0]; i++) {
        struct syn_traffic traffic = traffic_of("servers", SYN_TIMING_SYNC, 4000);
        double without = step_ms(cluster_of(8, servers[i]), traffic);
        traffic.merge_ms = 3;
        assert_near(step_ms(cluster_of(8, servers[i]), traffic),
                    without + 8 * 3 / (double)servers[i]);
        /* One worker alone, one server of many: an asynchronous one works as long. */
        traffic = traffic_of("servers", SYN_TIMING_ASYNC, 0);
        without = step_ms(cluster_of(1, servers[i]), traffic);
        traffic.merge_ms = 3;
        assert_near(step_ms(cluster_of(1, servers[i]), traffic), without + 3 / (double)servers[i]);
    }
}

static void selection_and_merging_add_to_a_synchronous_step(void **state)
{
    (void)state;
    struct syn_traffic traffic = traffic_of("gtopk", SYN_TIMING_SYNC, 300);
    double before = step_ms(cluster_of(8, 0), traffic);
    traffic.select_ms = 1.5;
    traffic.merge_ms = 0.5;
    assert_near(step_ms(cluster_of(8, 0), traffic), before + 1.5 + 3 * 0.5);
}

static void a_delayed_exchange_hides_behind_computing_if_it_is_shorter(void **state)
{
    (void)state;
    assert_near(step_ms(cluster_of(4, 0), traffic_of("ring", SYN_TIMING_DELAYED, 4000)),
                COMPUTE_MS);
    double exchange = 2 * 3 * (LATENCY_MS + 40000.0 / 4 / RATE);
    assert_near(step_ms(cluster_of(4, 0), traffic_of("ring", SYN_TIMING_DELAYED, 40000)), exchange);
}

static void seldom_pulls_save_their_share_of_the_traffic(void **state)
{
    (void)state;
    struct syn_cluster cluster = cluster_of(4, 0);
    struct syn_traffic traffic = traffic_of("ring", SYN_TIMING_DELAYED, 400000);
    struct syn_simulation every, seldom;
    assert_ok(syn_simulate(&cluster, &traffic, &every));
    traffic.pull_every = 4;
    assert_ok(syn_simulate(&cluster, &traffic, &seldom));
    assert_near(every.bytes_out, 2 * 0.75 * 400000);
    assert_near(seldom.bytes_out, (1 + 0.25) * 0.75 * 400000);
    assert_near(seldom.step_ms, every.step_ms * 5 / 8);
}

static void jitter_slows_synchronous_steps_and_more_of_it_more(void **state)
{
    (void)state;
    struct syn_cluster cluster = cluster_of(16, 0);
    struct syn_traffic traffic = traffic_of("ring", SYN_TIMING_SYNC, 4000);
    double before = step_ms(cluster, traffic);
    cluster.steps = 200;
    for (double jitter = 0.1; jitter < 0.5; jitter += 0.1) {
        cluster.jitter = jitter;
        double now = step_ms(cluster, traffic);
        if (now <= before)
            fail_msg("%g ms with jitter %g, %g ms with less", now, jitter, before);
        before = now;
    }
}

static void jitter_alone_does_not_change_the_mean_of_one_worker(void **state)
{
    (void)state;
    struct syn_cluster cluster = cluster_of(1, 0);
    cluster.jitter = 0.2;
    cluster.steps = 20000;
    double got = step_ms(cluster, traffic_of("ring", SYN_TIMING_SYNC, 4000));
    if (fabs(got - COMPUTE_MS) > 0.01 * COMPUTE_MS)
        fail_msg("%g ms; expected about %g", got, COMPUTE_MS);
}

static void delay_helps_against_jitter(void **state)
{
    (void)state;
    struct syn_cluster cluster = cluster_of(16, 0);
    cluster.jitter = 0.3;
    cluster.steps = 400;
    double sync = step_ms(cluster, traffic_of("gtopk", SYN_TIMING_SYNC, 300));
    double delayed = step_ms(cluster, traffic_of("gtopk", SYN_TIMING_DELAYED, 300));
    if (delayed >= sync)
        fail_msg("%g ms delayed, %g ms synchronous", delayed, sync);
}

static void asynchronous_workers_do_not_wait_for_a_slow_one(void **state)
{
    (void)state;
    struct syn_cluster cluster = cluster_of(8, 4);
    cluster.jitter = 0.3;
    cluster.steps = 400;
    double sync = step_ms(cluster, traffic_of("servers", SYN_TIMING_SYNC, 400));
    double async = step_ms(cluster, traffic_of("servers", SYN_TIMING_ASYNC, 400));
    if (async >= sync)
        fail_msg("%g ms asynchronous, %g ms synchronous", async, sync);
}

/* Pushes that share the server's link end together, and so do the pulls that begin together then:
 * the link is full, but one way at a time. */
static void equal_workers_use_an_asynchronous_server_one_way_at_a_time(void **state)
{
    (void)state;
    struct syn_cluster cluster = cluster_of(60, 1);
    struct syn_traffic traffic = traffic_of("servers", SYN_TIMING_ASYNC, 4000);
    struct syn_simulation one, two;
    cluster.compute_ms = 0.5;
    assert_ok(syn_simulate(&cluster, &traffic, &one));
    assert_near(one.step_ms, 0.5 + 2 * LATENCY_MS + 2 * 60 * 4000 / RATE);
    if (fabs(one.busiest_link - 0.5) > 0.01)
        fail_msg("link in use %g; expected half of the time", one.busiest_link);
    cluster.servers = 2;
    assert_ok(syn_simulate(&cluster, &traffic, &two));
    if (two.step_ms > 0.55 * one.step_ms)
        fail_msg("%g ms with two servers, %g ms with one", two.step_ms, one.step_ms);
}

/* A step as the mean values of a closed network of queues have it, in which jobs compute without
 * waiting and then share a way in and a way out: if the length of computing varies at all, its
 * distribution does not matter in the long run, nor does that of messages. */
static double mean_value_ms(double workers, double apart_ms, double message_ms)
{
    double waiting = 0; /* messages on each way */
    double step = 0;
    for (double n = 1; n <= workers; n++) {
        double passing_ms = message_ms * (1 + waiting);
        step = apart_ms + 2 * passing_ms;
        waiting = n / step * passing_ms;
    }
    return step;
}

static void unequal_workers_come_to_use_both_ways_of_it(void **state)
{
    (void)state;
    const size_t sizes[] = {2, 4, 8, 16};
    for (size_t i = 0; i < sizeof sizes / sizeof sizes[0]; i++) {
        struct syn_cluster cluster = cluster_of(sizes[i], 1);
        cluster.jitter = 0.5;
        cluster.steps = 10000;
        double got = step_ms(cluster, traffic_of("servers", SYN_TIMING_ASYNC, 4000));
        double expected = mean_value_ms((double)sizes[i], COMPUTE_MS + 2 * LATENCY_MS, 4000 / RATE);
        if (fabs(got - expected) > 0.01 * expected)
            fail_msg("%zu workers: %g ms; expected %g", sizes[i], got, expected);
    }
}

static void a_server_that_computes_long_saturates_too(void **state)
{
    (void)state;
    struct syn_traffic traffic = traffic_of("servers", SYN_TIMING_ASYNC, 4);
    traffic.merge_ms = 2;
    assert_near(round(step_ms(cluster_of(32, 1), traffic)), 64);
}

static void same_arguments_give_the_same_bits(void **state)
{
    (void)state;
    struct syn_cluster cluster = cluster_of(11, 0);
    struct syn_traffic traffic = traffic_of("gtopk-tree", SYN_TIMING_SYNC, 300);
    struct syn_simulation one, other;
    memset(&one, 0, sizeof one);
    memset(&other, 0, sizeof other);
    cluster.jitter = 0.5;
    assert_ok(syn_simulate(&cluster, &traffic, &one));
    assert_ok(syn_simulate(&cluster, &traffic, &other));
    assert_memory_equal(&one, &other, sizeof one);
    cluster.seed = 2;
    assert_ok(syn_simulate(&cluster, &traffic, &other));
    assert_true(one.step_ms != other.step_ms);
}

/* Every recipe, with any number of workers: it ends, and takes at least as long as computing. */
static void every_recipe_can_be_simulated(void **state)
{
    (void)state;
    for (size_t i = 0; syn_recipe_name(i); i++)
        for (size_t workers = 1; workers < 20; workers++) {
            struct syn_worker_options options;
            struct syn_traffic traffic;
            struct syn_cluster cluster = cluster_of(workers, 0);
            syn_worker_defaults(&options);
            assert_ok(syn_recipe_apply_worker(syn_recipe_name(i), &options));
            cluster.servers = strcmp(options.schedule, "async") == 0 ? 2 : 0;
            assert_ok(syn_traffic_of(&options, 10000, cluster.servers, &traffic));
            double got = step_ms(cluster, traffic);
            if (got < COMPUTE_MS * (1 - 1e-12))
                fail_msg("%s with %zu workers: %g ms", syn_recipe_name(i), workers, got);
        }
}

static void traffic_is_what_the_recipes_send(void **state)
{
    (void)state;
    struct syn_worker_options options;
    struct syn_traffic traffic;
    syn_worker_defaults(&options);
    assert_ok(syn_recipe_apply_worker("ssd-sgd", &options));
    assert_ok(syn_traffic_of(&options, 1000, 0, &traffic));
    assert_string_equal(traffic.pattern, "ring");
    assert_int_equal(traffic.timing, SYN_TIMING_DELAYED);
    assert_int_equal(traffic.pull_every, 4);
    assert_true(traffic.bytes == 4000);
    options.blocking_pull = true; /* whoever waits for the weights hides nothing */
    assert_ok(syn_traffic_of(&options, 1000, 0, &traffic));
    assert_int_equal(traffic.timing, SYN_TIMING_SYNC);
    options.blocking_pull = false;
    assert_ok(syn_recipe_apply("gtopk", &options.reducer));
    options.reducer.density = 0.001;
    assert_ok(syn_traffic_of(&options, 1000000, 0, &traffic));
    assert_string_equal(traffic.pattern, "gtopk");
    assert_int_equal(traffic.pull_every, 1);
    assert_true(traffic.bytes > 1000 * (4 + 11.3) / 8 && traffic.bytes < 1000 * (4.2 + 11.5) / 8);
    options.reducer.values = "f32";
    assert_ok(syn_traffic_of(&options, 1000000, 0, &traffic));
    assert_true(traffic.bytes > 1000 * (32 + 11.3) / 8 && traffic.bytes < 1000 * (32 + 11.5) / 8);
}

/* A million parameters, of which a thousand are sent: 0.6 ns, 10 ns and 0.5 ns each, as simulate.h
 * has it. */
static void work_is_estimated_by_parameters_and_entries(void **state)
{
    (void)state;
    struct syn_worker_options options;
    struct syn_traffic traffic;
    syn_worker_defaults(&options);
    assert_ok(syn_traffic_of(&options, 1000000, 0, &traffic));
    assert_true(traffic.select_ms == 0);
    assert_near(traffic.merge_ms, 0.5);
    assert_ok(syn_recipe_apply("gtopk", &options.reducer));
    options.reducer.density = 0.001;
    assert_ok(syn_traffic_of(&options, 1000000, 0, &traffic));
    assert_near(traffic.select_ms, 0.6);
    assert_near(traffic.merge_ms, 0.01);
    options.reducer.exchange = "split";
    options.reducer.keep = 3;
    assert_ok(syn_traffic_of(&options, 1000000, 0, &traffic));
    assert_near(traffic.pull_bytes, 3 * traffic.bytes);
}

static void nonsense_is_refused(void **state)
{
    (void)state;
    struct syn_simulation result;
    struct syn_traffic ring = traffic_of("ring", SYN_TIMING_SYNC, 4);
    struct syn_traffic bad = ring;
    struct syn_cluster good = cluster_of(2, 0);
    struct syn_cluster cluster = cluster_of(0, 0);
    assert_status(SYN_INVALID, syn_simulate(&cluster, &ring, &result));
    cluster = good;
    cluster.bytes_per_ms = 0;
    assert_status(SYN_INVALID, syn_simulate(&cluster, &ring, &result));
    cluster = good;
    cluster.compute_ms = (double)NAN;
    assert_status(SYN_INVALID, syn_simulate(&cluster, &ring, &result));
    cluster = good;
    cluster.burst_ms = -1;
    assert_status(SYN_INVALID, syn_simulate(&cluster, &ring, &result));
    cluster = good;
    cluster.jitter = -1;
    assert_status(SYN_INVALID, syn_simulate(&cluster, &ring, &result));
    bad.pattern = "star";
    assert_status(SYN_INVALID, syn_simulate(&good, &bad, &result));
    bad = ring;
    bad.timing = SYN_TIMING_ASYNC;
    assert_status(SYN_INVALID, syn_simulate(&good, &bad, &result));
    bad = ring;
    bad.pull_every = 0;
    assert_status(SYN_INVALID, syn_simulate(&good, &bad, &result));
    bad = traffic_of("servers", SYN_TIMING_SYNC, 4);
    assert_status(SYN_INVALID, syn_simulate(&good, &bad, &result));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(ring_takes_what_its_formula_says),
        cmocka_unit_test(allgather_takes_what_its_formula_says),
        cmocka_unit_test(split_takes_what_its_formula_says),
        cmocka_unit_test(lists_of_a_step_take_the_way_that_suits_their_length),
        cmocka_unit_test(gtopk_takes_its_rounds),
        cmocka_unit_test(gtopk_takes_about_two_hops_more_for_other_numbers),
        cmocka_unit_test(gtopk_tree_goes_up_and_down),
        cmocka_unit_test(gtopk_tree_ends_with_odd_numbers_of_workers),
        cmocka_unit_test(servers_share_the_work_of_merging),
        cmocka_unit_test(servers_hear_all_workers_and_then_answer_all),
        cmocka_unit_test(pulls_from_servers_take_as_long_as_their_own_bytes),
        cmocka_unit_test(selection_and_merging_add_to_a_synchronous_step),
        cmocka_unit_test(a_delayed_exchange_hides_behind_computing_if_it_is_shorter),
        cmocka_unit_test(seldom_pulls_save_their_share_of_the_traffic),
        cmocka_unit_test(jitter_slows_synchronous_steps_and_more_of_it_more),
        cmocka_unit_test(jitter_alone_does_not_change_the_mean_of_one_worker),
        cmocka_unit_test(delay_helps_against_jitter),
        cmocka_unit_test(asynchronous_workers_do_not_wait_for_a_slow_one),
        cmocka_unit_test(equal_workers_use_an_asynchronous_server_one_way_at_a_time),
        cmocka_unit_test(unequal_workers_come_to_use_both_ways_of_it),
        cmocka_unit_test(a_server_that_computes_long_saturates_too),
        cmocka_unit_test(same_arguments_give_the_same_bits),
        cmocka_unit_test(every_recipe_can_be_simulated),
        cmocka_unit_test(traffic_is_what_the_recipes_send),
        cmocka_unit_test(work_is_estimated_by_parameters_and_entries),
        cmocka_unit_test(nonsense_is_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

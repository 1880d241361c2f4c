/* What measures say of the bytes and entries, which do not depend on the machine; times are for
 * people, and only their ratios are tested. */
#include "check.h"

#include <math.h>
#include <pthread.h>
#include <string.h>

#include <syncopate/measure.h>
#include <syncopate/recipe.h>

#include "base/clock.h"
#include "exchange/exchange.h"
#include "inspect/median.h"
#include "mailbox.h"
#include "workers.h"

static const size_t worker_counts[] = {1, 2, 3, 4, 5, 7, 8, 16};

enum { SIZE = 4001 };

struct fixture {
    struct syn_reducer_options options;
    size_t size;
    enum syn_status status[WORKERS_MOST];
    struct syn_exchange_measure got[WORKERS_MOST];
};

static struct fixture fixture_for(const char *recipe)
{
    struct fixture fixture = {.size = SIZE};
    syn_reducer_defaults(&fixture.options);
    assert_ok(syn_recipe_apply(recipe, &fixture.options));
    fixture.options.indices = "raw"; /* so that every list of k entries has the same size */
    fixture.options.values = "f32";
    fixture.options.density = 0.02;
    return fixture;
}

static void measure(struct syn_group *group, size_t rank, void *context)
{
    struct fixture *fixture = context;
    fixture->status[rank] =
        syn_measure_exchange(group, &fixture->options, fixture->size, 2, &fixture->got[rank]);
}

static void assert_bytes_are_theory(struct fixture *fixture, size_t workers)
{
    run_workers(workers, 20000, measure, fixture);
    for (size_t w = 0; w < workers; w++) {
        assert_int_equal(fixture->status[w], SYN_OK);
        assert_memory_equal(&fixture->got[w], &fixture->got[0], sizeof fixture->got[0]);
    }
    /* The ring's chunks differ by a float; a merge may cancel an entry. Owners have their pieces by
     * chance: that evens out in long lists, and these are short. */
    bool is_by_chance = strcmp(fixture->options.exchange, "split") == 0;
    double bound = fixture->got[0].bytes_bound;
    double off = fabs((double)fixture->got[0].bytes_max - bound);
    if (off > 8 * (double)workers + (is_by_chance ? 0.3 * bound : 0))
        fail_msg("%s with %zu workers sends %llu bytes; theory says %g", fixture->options.exchange,
                 workers, (unsigned long long)fixture->got[0].bytes_max, bound);
}

static void every_exchange_sends_what_theory_says(void **state)
{
    (void)state;
    for (size_t t = 0; t < sizeof worker_counts / sizeof worker_counts[0]; t++)
        for (size_t i = 0; syn_exchange_row(i); i++) {
            struct fixture fixture = fixture_for(syn_exchange_row(i)->is_dense ? "ssgd" : "topk");
            fixture.options.exchange = syn_exchange_row(i)->part.name;
            if (syn_exchange_row(i)->follows_density)
                fixture.options.residual = "feedback";
            assert_bytes_are_theory(&fixture, worker_counts[t]);
            assert_int_equal(fixture.got[0].count,
                             syn_exchange_row(i)->is_dense ? SIZE : SIZE / 50);
        }
}

/* Whole lists leave nothing to chance: also their heads count. */
static void split_of_everything_sends_what_theory_says_to_the_byte(void **state)
{
    (void)state;
    static const size_t sizes[] = {2, 4, 8};
    for (size_t t = 0; t < 3; t++) {
        struct fixture fixture = fixture_for("topk");
        fixture.options.exchange = "split";
        fixture.options.keep = 1;
        fixture.options.density = 1;
        fixture.size = 8 * 256;
        run_workers(sizes[t], 20000, measure, &fixture);
        assert_int_equal(fixture.status[0], SYN_OK);
        assert_true(fabs((double)fixture.got[0].bytes_max - fixture.got[0].bytes_bound) < 1);
    }
}

static void split_sends_two_messages_of_evenly_shared_lists(void **state)
{
    (void)state;
    static const size_t sizes[] = {4, 7, 16};
    for (size_t t = 0; t < sizeof sizes / sizeof sizes[0]; t++) {
        struct fixture fixture = fixture_for("topk");
        double workers = (double)sizes[t];
        fixture.options.exchange = "split";
        fixture.options.keep = 1;
        fixture.options.density = 0.01;
        fixture.size = 2500000;
        run_workers(sizes[t], 60000, measure, &fixture);
        assert_int_equal(fixture.status[0], SYN_OK);
        double lists = (double)fixture.got[0].bytes_max / (25000 * 8.0);
        double bound = 2 * (workers - 1) / workers;
        if (fabs(lists / bound - 1) > 0.03)
            fail_msg("%zu workers: the busiest sends %g lists; expected %g", sizes[t], lists,
                     bound);
    }
}

static void halves_halve_the_bytes_of_theory_too(void **state)
{
    (void)state;
    struct fixture whole = fixture_for("ssgd");
    struct fixture half = fixture_for("ssgd");
    half.options.values = "f16";
    half.options.residual = "feedback";
    assert_bytes_are_theory(&whole, 4);
    assert_bytes_are_theory(&half, 4);
    assert_true(half.got[0].bytes_bound == whole.got[0].bytes_bound / 2);
}

static void nothing_is_not_measured(void **state)
{
    (void)state;
    struct fixture fixture = fixture_for("gtopk");
    struct syn_select_measure select;
    struct syn_codec_measure codec;
    fixture.size = 0;
    run_workers(1, 1000, measure, &fixture);
    assert_int_equal(fixture.status[0], SYN_INVALID);
    assert_status(SYN_INVALID, syn_measure_select(&fixture.options, 0, 1, &select));
    assert_status(SYN_INVALID, syn_measure_select(&fixture.options, 1, 0, &select));
    assert_status(SYN_INVALID, syn_measure_codec(&fixture.options, 0, 1, &codec));
    fixture.options.residual = "none";
    fixture.size = 1;
    run_workers(1, 1000, measure, &fixture);
    assert_int_equal(fixture.status[0], SYN_INVALID);
}

static void a_residual_that_is_left_open_is_resolved_first(void **state)
{
    (void)state;
    struct fixture fixture = fixture_for("ssgd");
    fixture.options.residual = "auto";
    fixture.options.values = "f16";
    run_workers(2, 60000, measure, &fixture);
    assert_int_equal(fixture.status[0], SYN_OK);
}

static void codes_are_measured_with_their_entropy(void **state)
{
    (void)state;
    struct fixture fixture = fixture_for("topk");
    struct syn_codec_measure got;
    fixture.options.indices = "auto";
    fixture.options.density = 0.001;
    assert_ok(syn_measure_codec(&fixture.options, 1000000, 1, &got));
    assert_int_equal(got.count, 1000);
    assert_string_equal(got.indices, "rice");
    assert_true(fabs(got.entropy_bits - 11.40) < 0.01);
    assert_true(got.bits_per_index > got.entropy_bits);
    assert_true(got.bits_per_index < 1.02 * got.entropy_bits);
}

static void as_many_are_picked_as_the_density_says(void **state)
{
    (void)state;
    struct fixture fixture = fixture_for("gtopk");
    struct syn_select_measure got;
    assert_ok(syn_measure_select(&fixture.options, SIZE, 2, &got));
    assert_int_equal(got.picked, SIZE / 50);
}

struct links_fixture {
    enum syn_status status[WORKERS_MOST];
    struct syn_links_measure got[WORKERS_MOST];
};

static void measure_links(struct syn_group *group, size_t rank, void *context)
{
    struct links_fixture *fixture = context;
    fixture->status[rank] = syn_measure_links(group, 1000, 5, &fixture->got[rank]);
}

static void all_workers_find_the_same_links(void **state)
{
    (void)state;
    const size_t sizes[] = {2, 3, 4, 5};
    for (size_t i = 0; i < sizeof sizes / sizeof sizes[0]; i++) {
        struct links_fixture fixture;
        memset(&fixture, 0, sizeof fixture);
        run_workers(sizes[i], 20000, measure_links, &fixture);
        for (size_t w = 0; w < sizes[i]; w++) {
            assert_int_equal(fixture.status[w], SYN_OK);
            assert_memory_equal(&fixture.got[w], &fixture.got[0], sizeof fixture.got[0]);
        }
        const struct syn_links_measure *got = &fixture.got[0];
        assert_true(got->latency_ms > 0 && got->worst_latency_ms >= got->latency_ms);
        assert_true(got->worst_bytes_per_ms > 0 && got->bytes_per_ms >= got->worst_bytes_per_ms);
        assert_true(got->worst_from < sizes[i] && got->worst_to < sizes[i]);
        assert_true(got->worst_from != got->worst_to);
        assert_true(got->together_latency_ms > 0 && got->together_ms > 0);
    }
}

static void one_worker_has_no_links(void **state)
{
    (void)state;
    struct links_fixture fixture;
    memset(&fixture, 0, sizeof fixture);
    run_workers(1, 20000, measure_links, &fixture);
    assert_int_equal(fixture.status[0], SYN_INVALID);
}

/* Two workers whose first messages of one byte are slow: those of worker 0's pings, there and back,
 * of which the first only connects. */
enum { PINGS = 21 };
#define SLOW_NS 5000000

struct slow_place {
    struct mailbox_place place; /* first, as the mailbox knows it */
    struct syn_group *group;
    size_t pings;
    int64_t sent_ns[PINGS];
    enum syn_status status;
    struct syn_links_measure got;
};

static int send_slowly(void *context, size_t peer, const void *bytes, size_t count, void **handle)
{
    struct slow_place *own = context;
    if (count == 1 && own->pings < PINGS) {
        struct timespec pause = syn_clock_timespec(SLOW_NS);
        own->sent_ns[own->pings++] = syn_clock_ns();
        nanosleep(&pause, NULL);
    }
    return mailbox_send(context, peer, bytes, count, handle);
}

static void *measure_slow_links(void *argument)
{
    struct slow_place *own = argument;
    own->status = syn_measure_links(own->group, 1000, 0, &own->got);
    return NULL;
}

static void measure_by_mailbox(struct slow_place places[2])
{
    struct mailbox mailbox = mailbox_for(2);
    pthread_t threads[2];
    for (size_t i = 0; i < 2; i++) {
        struct syn_caller_transport host = {.context = &places[i],
                                            .start_send = send_slowly,
                                            .start_receive = mailbox_receive,
                                            .test = mailbox_test,
                                            .cancel = mailbox_cancel,
                                            .sleep = mailbox_sleep};
        places[i].place = (struct mailbox_place){.mailbox = &mailbox, .rank = i};
        assert_ok(syn_group_open_caller(&host, i, 2, NULL, &places[i].group));
    }
    for (size_t i = 0; i < 2; i++)
        assert_int_equal(pthread_create(&threads[i], NULL, measure_slow_links, &places[i]), 0);
    for (size_t i = 0; i < 2; i++)
        pthread_join(threads[i], NULL);
    for (size_t i = 0; i < 2; i++)
        syn_group_close(places[i].group);
    mailbox_empty(&mailbox);
}

/* From one ping to the next, as the host saw them: on a busy machine both take longer. */
static void latency_is_half_of_the_way_there_and_back(void **state)
{
    (void)state;
    struct slow_place places[2];
    double trips[PINGS - 2];
    memset(places, 0, sizeof places);
    measure_by_mailbox(places);
    for (size_t i = 0; i < 2; i++) {
        assert_int_equal(places[i].status, SYN_OK);
        assert_int_equal(places[i].pings, PINGS);
    }
    for (size_t i = 0; i < PINGS - 2; i++)
        trips[i] = (double)(places[0].sent_ns[i + 2] - places[0].sent_ns[i + 1]) * 1e-6;
    double trip_ms = syn_median(trips, PINGS - 2);
    double latency_ms = places[0].got.worst_latency_ms;
    if (latency_ms < 0.3 * trip_ms || latency_ms > 0.7 * trip_ms)
        fail_msg("latency %g ms; expected half of %g ms", latency_ms, trip_ms);
}

static void a_threshold_picks_less_than_it_may(void **state)
{
    (void)state;
    struct fixture fixture = fixture_for("strom");
    struct syn_select_measure select;
    assert_ok(syn_measure_select(&fixture.options, SIZE, 2, &select));
    assert_in_range(select.picked, 1, SIZE / 50);
}

static void the_median_is_the_one_in_the_middle(void **state)
{
    (void)state;
    double times[] = {9, 1, 5, 3, 7};
    assert_true(syn_median((double[]){4}, 1) == 4);
    assert_true(syn_median(times, 5) == 5);
    assert_true(syn_median((double[]){2, 8, 1}, 3) == 2);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(all_workers_find_the_same_links),
        cmocka_unit_test(one_worker_has_no_links),
        cmocka_unit_test(latency_is_half_of_the_way_there_and_back),
        cmocka_unit_test(every_exchange_sends_what_theory_says),
        cmocka_unit_test(split_of_everything_sends_what_theory_says_to_the_byte),
        cmocka_unit_test(split_sends_two_messages_of_evenly_shared_lists),
        cmocka_unit_test(halves_halve_the_bytes_of_theory_too),
        cmocka_unit_test(nothing_is_not_measured),
        cmocka_unit_test(a_residual_that_is_left_open_is_resolved_first),
        cmocka_unit_test(codes_are_measured_with_their_entropy),
        cmocka_unit_test(as_many_are_picked_as_the_density_says),
        cmocka_unit_test(a_threshold_picks_less_than_it_may),
        cmocka_unit_test(the_median_is_the_one_in_the_middle),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

/* Whoever computes, loads or saves is alive, for however many time-outs it does; whoever has closed
 * or waits in a circle is found all the same. */
#include "check.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/clock.h"
#include "cluster.h"
#include "fixture.h"
#include "mailbox.h"
#include "transport/transport.h"

#define TIMEOUT_MS 100

/* Longer than the time-out and what is granted for an answer, together and twice. */
#define LONG_MS 2500

static void sleep_ms(long ms)
{
    struct timespec pause = {.tv_sec = ms / 1000, .tv_nsec = ms % 1000 * 1000000};
    nanosleep(&pause, NULL);
}

/* What worker 1 does that takes so long. */
enum pause { BEFORE_OPENING, BETWEEN_STEPS, BEFORE_WAITING, PAUSES };

struct run {
    struct fixture fixture;
    enum pause pause;
};

static void pause_if(const struct run *run, enum pause pause, size_t rank)
{
    if (run->pause == pause && rank == 1)
        sleep_ms(LONG_MS);
}

static enum syn_status step_with_pauses(const struct run *run, struct syn_reducer *reducer,
                                        size_t rank)
{
    float gradient[FIXTURE_SIZE] = {[3] = 1};
    float sum[FIXTURE_SIZE];
    struct syn_ticket ticket;
    struct syn_merged merged;
    enum syn_status status = fixture_step(reducer, gradient, NULL, sum);
    pause_if(run, BETWEEN_STEPS, rank);
    if (status == SYN_OK)
        status = syn_reducer_begin(reducer, gradient, NULL, &ticket);
    pause_if(run, BEFORE_WAITING, rank);
    if (status == SYN_OK)
        status = syn_reducer_wait(reducer, ticket, &merged);
    return status == SYN_OK ? fixture_step(reducer, gradient, NULL, sum) : status;
}

static void work(struct syn_group *group, size_t rank, void *context)
{
    struct run *run = context;
    struct syn_reducer *reducer = NULL;
    pause_if(run, BEFORE_OPENING, rank);
    enum syn_status status = fixture_open(&run->fixture, group, &reducer);
    if (status == SYN_OK)
        status = step_with_pauses(run, reducer, rank);
    fixture_note(&run->fixture, rank, status);
    syn_reducer_close(reducer);
}

static void assert_all_ended_well(const struct run *run, size_t workers)
{
    for (size_t i = 0; i < workers; i++)
        if (run->fixture.got[i] != SYN_OK)
            fail_msg("pause %d, worker %zu: %s", (int)run->pause, i, run->fixture.cause[i]);
}

static void a_thread_that_is_busy_for_many_timeouts_is_waited_for(void **state)
{
    (void)state;
    for (int pause = 0; pause < PAUSES; pause++) {
        struct run run = {.fixture = fixture_for("gtopk"), .pause = (enum pause)pause};
        run_workers(3, TIMEOUT_MS, work, &run);
        assert_all_ended_well(&run, 3);
    }
}

struct place {
    pthread_t thread;
    struct mailbox_place mailbox;
    struct syn_group *group;
    struct run *run;
};

static void *take_place(void *context)
{
    struct place *place = context;
    work(place->group, syn_group_rank(place->group), place->run);
    return NULL;
}

static void over_a_host_who_is_busy_for_many_timeouts_is_waited_for(void **state)
{
    (void)state;
    struct syn_group_options options = {.timeout_ms = TIMEOUT_MS};
    for (int pause = 0; pause < PAUSES; pause++) {
        struct run run = {.fixture = fixture_for("ssgd"), .pause = (enum pause)pause};
        struct mailbox mailbox = mailbox_for(3);
        struct place places[3];
        mailbox.sleep = mailbox_sleep;
        for (size_t i = 0; i < 3; i++) {
            places[i] = (struct place){.mailbox = {.mailbox = &mailbox, .rank = i}, .run = &run};
            struct syn_caller_transport host = {.context = &places[i].mailbox,
                                                .start_send = mailbox_send,
                                                .start_receive = mailbox_receive,
                                                .test = mailbox_test,
                                                .cancel = mailbox_cancel,
                                                .sleep = mailbox.sleep};
            assert_ok(syn_group_open_caller(&host, i, 3, &options, &places[i].group));
        }
        for (size_t i = 0; i < 3; i++)
            assert_int_equal(pthread_create(&places[i].thread, NULL, take_place, &places[i]), 0);
        for (size_t i = 0; i < 3; i++)
            pthread_join(places[i].thread, NULL);
        for (size_t i = 0; i < 3; i++)
            syn_group_close(places[i].group);
        mailbox_empty(&mailbox);
        assert_all_ended_well(&run, 3);
    }
}

/* Worker 0 is done at once and settles; the others take many time-outs for their steps. */
static bool take_long(struct cluster *cluster, size_t rank, size_t step, float *gradient)
{
    (void)cluster;
    (void)gradient;
    if (rank > 0 && step < 2)
        sleep_ms(LONG_MS);
    return true;
}

static void servers_wait_for_workers_of_uneven_speed_without_seeing_a_circle(void **state)
{
    (void)state;
    static const char *const recipes[] = {"asgd", "ssgd"};
    for (int r = 0; r < 2; r++) {
        struct cluster *cluster = cluster_of(recipes[r], 1);
        cluster->steps = 4;
        cluster->before = take_long;
        run_workers(4, TIMEOUT_MS, cluster_member, cluster);
        for (size_t i = 0; i < 4; i++)
            if (cluster->status[i] != SYN_OK)
                fail_msg("%s, member %zu: %s", recipes[r], i, cluster->cause[i]);
        free(cluster);
    }
}

/* Each receives from the one before, and nobody sends. */
static int64_t circled_ns[3];
static char circled_cause[3][SYN_ERROR_BYTES];

static void wait_in_a_circle(struct syn_group *group, size_t rank, void *context)
{
    (void)context;
    char byte;
    struct syn_request request;
    int64_t began_ns = syn_clock_ns();
    syn_group_receive(group, (rank + 2) % 3, &byte, 1, &request);
    syn_group_wait(group, &request, 1);
    circled_ns[rank] = syn_clock_ns() - began_ns;
    snprintf(circled_cause[rank], sizeof circled_cause[rank], "%s", syn_error_text());
}

static void a_circle_is_found_but_not_before_ten_timeouts(void **state)
{
    (void)state;
    run_workers(3, 800, wait_in_a_circle, NULL);
    for (size_t i = 0; i < 3; i++) {
        assert_non_null(strstr(circled_cause[i], "wait in a circle"));
        assert_non_null(strstr(circled_cause[i], "--timeout-ms: 800"));
        /* The others may have begun a little earlier. */
        if (circled_ns[i] < INT64_C(7900000000))
            fail_msg("worker %zu: after %lld ns", i, (long long)circled_ns[i]);
    }
}

/* Worker 0 takes what comes first from 1 or 2; 1 waits for 0, and 2 is busy for longer than it
 * takes to find a circle. */
static enum syn_status any_status[3];

static void wait_for_any(struct syn_group *group, size_t rank, void *context)
{
    (void)context;
    char bytes[2] = {0};
    size_t which = 0;
    struct syn_request requests[2] = {0};
    enum syn_status status = SYN_OK;
    if (rank == 0) {
        syn_group_receive(group, 1, &bytes[0], 1, &requests[0]);
        syn_group_receive(group, 2, &bytes[1], 1, &requests[1]);
        status = syn_group_wait_any(group, requests, 2, &which);
        struct syn_request answer = {0};
        if (status == SYN_OK)
            status = syn_group_send(group, 1, bytes, 1, &answer);
        if (status == SYN_OK)
            status = syn_group_wait(group, &answer, 1);
        if (status == SYN_OK)
            status = syn_group_wait(group, requests, 2);
    } else {
        if (rank == 2)
            sleep_ms(6000);
        else
            syn_group_receive(group, 0, &bytes[0], 1, &requests[0]);
        status = syn_group_wait(group, requests, 1);
        if (status == SYN_OK)
            status = syn_group_send(group, 0, &bytes[1], 1, &requests[1]);
        if (status == SYN_OK)
            status = syn_group_wait(group, requests, 2);
    }
    any_status[rank] = status == SYN_OK && which != (rank == 0) ? SYN_FORMAT : status;
}

static void who_waits_for_any_of_several_is_not_in_a_circle_with_one(void **state)
{
    (void)state;
    run_workers(3, TIMEOUT_MS, wait_for_any, NULL);
    for (size_t i = 0; i < 3; i++)
        assert_int_equal(any_status[i], SYN_OK);
}

/* Idle groups cost next to no processor time. */
static void idle_groups_take_no_processor_time(void **state)
{
    (void)state;
    struct syn_group *groups[16];
    struct timespec before;
    struct timespec after;
    assert_ok(syn_group_open_threads(16, NULL, groups));
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &before);
    sleep_ms(2000);
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &after);
    for (size_t i = 0; i < 16; i++)
        syn_group_close(groups[i]);
    double used = difftime(after.tv_sec, before.tv_sec) + 1e-9 * (double)after.tv_nsec -
                  1e-9 * (double)before.tv_nsec;
    if (used > 0.1)
        fail_msg("%g s of processor time in 2 s of doing nothing", used);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_thread_that_is_busy_for_many_timeouts_is_waited_for),
        cmocka_unit_test(over_a_host_who_is_busy_for_many_timeouts_is_waited_for),
        cmocka_unit_test(servers_wait_for_workers_of_uneven_speed_without_seeing_a_circle),
        cmocka_unit_test(a_circle_is_found_but_not_before_ten_timeouts),
        cmocka_unit_test(who_waits_for_any_of_several_is_not_in_a_circle_with_one),
        cmocka_unit_test(idle_groups_take_no_processor_time),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

/* Transports inside one process: threads, and a host's own message passing, here a mailbox. */
#include "check.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "mailbox.h"
#include "transport/launcher.h"
#include "transport_cases.h"

#define MOST MAILBOX_MOST

/* One worker of a case, on a thread of its own. */
struct worker {
    pthread_t thread;
    struct mailbox_place place;
    struct syn_group *group;
    transport_case *function;
    size_t actor;
    char wrong[SYN_ERROR_BYTES];
};

static void *act(void *context)
{
    struct worker *worker = context;
    snprintf(worker->wrong, sizeof worker->wrong, "%s",
             worker->function(worker->group, worker->actor));
    syn_group_close(worker->group);
    return NULL;
}

/* Everybody cases and closes when it is done, whatever the others are at. */
static void perform(struct worker *workers, size_t count, transport_case *what, size_t actor)
{
    for (size_t i = 0; i < count; i++) {
        workers[i].function = what;
        workers[i].actor = actor;
        assert_int_equal(pthread_create(&workers[i].thread, NULL, act, &workers[i]), 0);
    }
    for (size_t i = 0; i < count; i++)
        pthread_join(workers[i].thread, NULL);
    for (size_t i = 0; i < count; i++)
        assert_string_equal(workers[i].wrong, "");
}

static void on_threads(size_t count, uint64_t timeout_ms, transport_case *what, size_t actor)
{
    struct worker workers[MOST] = {{0}};
    struct syn_group *groups[MOST];
    struct syn_group_options options = {.timeout_ms = timeout_ms};
    assert_ok(syn_group_open_threads(count, &options, groups));
    for (size_t i = 0; i < count; i++)
        workers[i].group = groups[i];
    perform(workers, count, what, actor);
}

static void by_mailbox(struct mailbox *mailbox, uint64_t timeout_ms, transport_case *what,
                       size_t actor)
{
    struct worker workers[MOST] = {{0}};
    struct syn_group_options options = {.timeout_ms = timeout_ms};
    for (size_t i = 0; i < mailbox->workers; i++) {
        workers[i].place = (struct mailbox_place){.mailbox = mailbox, .rank = i};
        struct syn_caller_transport host = {.context = &workers[i].place,
                                            .start_send = mailbox_send,
                                            .start_receive = mailbox_receive,
                                            .test = mailbox_test,
                                            .cancel = mailbox_cancel,
                                            .sleep = mailbox->sleep};
        assert_ok(syn_group_open_caller(&host, i, mailbox->workers, &options, &workers[i].group));
        assert_string_equal(syn_group_transport(workers[i].group), "caller");
    }
    perform(workers, mailbox->workers, what, actor);
    mailbox_empty(mailbox);
}

static const size_t worker_counts[] = {1, 2, 3, 5, 7, 8, 16};
#define WORKER_COUNTS (sizeof worker_counts / sizeof worker_counts[0])

/* Long enough that a test which only the time-out ends is seen to fail. */
#define LONG_MS 60000

static void every_pair_of_threads_exchanges_messages_of_all_sizes(void **state)
{
    (void)state;
    for (size_t i = 0; i < WORKER_COUNTS; i++)
        on_threads(worker_counts[i], LONG_MS, case_every_pair, 0);
}

static void threads_keep_the_order_of_many_messages_under_way(void **state)
{
    (void)state;
    for (size_t i = 0; i < WORKER_COUNTS; i++)
        on_threads(worker_counts[i], LONG_MS, case_many_under_way, 0);
}

static void wrong_peers_are_refused_and_leave_the_group_whole(void **state)
{
    (void)state;
    on_threads(1, LONG_MS, case_wrong_peer, 0);
    on_threads(3, LONG_MS, case_wrong_peer, 0);
}

static void a_message_larger_than_the_room_breaks_the_group_of_threads(void **state)
{
    (void)state;
    transport_case *const cases[] = {case_too_large, case_far_too_large, case_no_room,
                                     case_too_large_in_the_end};
    for (size_t i = 1; i < WORKER_COUNTS; i++)
        on_threads(worker_counts[i], LONG_MS, cases[i % 4], i % worker_counts[i]);
}

static void a_silent_thread_is_named_by_all_others(void **state)
{
    (void)state;
    on_threads(5, 200, case_silent, 2);
    on_threads(16, 300, case_silent, 0);
}

static void a_thread_that_gives_up_makes_all_others_fail_with_its_cause(void **state)
{
    (void)state;
    for (size_t i = 1; i < WORKER_COUNTS; i++)
        on_threads(worker_counts[i], LONG_MS, case_abandon, worker_counts[i] / 2);
}

/* Of two who failed without knowing of each other, the first is named. */
static void the_first_failure_is_the_cause(void **state)
{
    (void)state;
    struct syn_group *groups[3];
    struct syn_request request = {0};
    char byte;
    assert_ok(syn_group_open_threads(3, NULL, groups));
    syn_group_abandon(groups[1], SYN_IO, "first");
    syn_group_abandon(groups[2], SYN_IO, "second");
    syn_group_receive(groups[0], 2, &byte, 1, &request);
    assert_int_equal(syn_group_wait(groups[0], &request, 1), SYN_PEER);
    assert_non_null(strstr(syn_error_text(), "worker 1 failed: first"));
    for (size_t i = 0; i < 3; i++)
        syn_group_close(groups[i]);
}

static void workers_that_wait_in_a_circle_find_out(void **state)
{
    (void)state;
    on_threads(2, 10, case_circle, 0);
    on_threads(5, 10, case_circle, 0);
}

static void whoever_waits_is_not_silent(void **state)
{
    (void)state;
    on_threads(4, 400, case_late_chain, 0);
}

static void messages_are_taken_as_they_come(void **state)
{
    (void)state;
    for (size_t i = 0; i < WORKER_COUNTS; i++) {
        struct mailbox mailbox = mailbox_for(worker_counts[i]);
        on_threads(worker_counts[i], LONG_MS, case_whoever_comes, 0);
        by_mailbox(&mailbox, LONG_MS, case_whoever_comes, 0);
    }
}

static void a_silent_thread_is_named_however_busy_the_others_are(void **state)
{
    (void)state;
    /* Long enough for a thread that waits for a processor on a busy machine. */
    on_threads(3, 2000, case_silent_among_busy, 2);
    on_threads(7, 2000, case_silent_among_busy, 1);
}

static void groups_close_in_any_order_without_having_been_used(void **state)
{
    (void)state;
    struct syn_group *groups[3];
    assert_ok(syn_group_open_threads(3, NULL, groups));
    assert_int_equal(syn_group_rank(groups[1]), 1);
    assert_int_equal(syn_group_workers(groups[1]), 3);
    assert_string_equal(syn_group_transport(groups[1]), "threads");
    syn_group_close(groups[2]);
    syn_group_close(groups[0]);
    syn_group_close(groups[1]);
    syn_group_close(NULL);
}

static void impossible_groups_are_refused(void **state)
{
    (void)state;
    struct syn_group *group = NULL;
    struct syn_group_options options = {.timeout_ms = 9};
    struct syn_caller_transport host = {.start_send = mailbox_send,
                                        .start_receive = mailbox_receive};
    assert_status(SYN_INVALID, syn_group_open_threads(0, NULL, &group));
    assert_status(SYN_INVALID, syn_group_open_threads(SIZE_MAX, NULL, &group));
    assert_status(SYN_INVALID, syn_group_open_threads(1, &options, &group));
    assert_status(SYN_INVALID, syn_group_open_caller(&host, 0, 1, NULL, &group));
    host.test = mailbox_test;
    assert_status(SYN_INVALID, syn_group_open_caller(&host, 2, 2, NULL, &group));
    assert_status(SYN_INVALID, syn_group_open_caller(&host, 0, 2, &options, &group));
}

static void a_host_brings_every_pair_together(void **state)
{
    (void)state;
    for (size_t i = 0; i < WORKER_COUNTS; i++) {
        struct mailbox mailbox = mailbox_for(worker_counts[i]);
        by_mailbox(&mailbox, LONG_MS, case_every_pair, 0);
        by_mailbox(&mailbox, LONG_MS, case_many_under_way, 0);
    }
}

static void over_a_host_failures_reach_everybody_too(void **state)
{
    (void)state;
    struct mailbox mailbox = mailbox_for(5);
    by_mailbox(&mailbox, LONG_MS, case_too_large, 3);
    by_mailbox(&mailbox, LONG_MS, case_far_too_large, 0);
    by_mailbox(&mailbox, LONG_MS, case_no_room, 2);
    by_mailbox(&mailbox, LONG_MS, case_too_large_in_the_end, 4);
    by_mailbox(&mailbox, LONG_MS, case_abandon, 4);
    by_mailbox(&mailbox, 200, case_silent, 1);
    by_mailbox(&mailbox, 10, case_circle, 0);
}

static void a_host_that_can_sleep_keeps_every_promise_too(void **state)
{
    (void)state;
    for (size_t i = 0; i < WORKER_COUNTS; i++) {
        struct mailbox mailbox = mailbox_for(worker_counts[i]);
        mailbox.sleep = mailbox_sleep;
        by_mailbox(&mailbox, LONG_MS, case_every_pair, 0);
        by_mailbox(&mailbox, LONG_MS, case_many_under_way, 0);
        by_mailbox(&mailbox, LONG_MS, case_whoever_comes, 0);
    }
    struct mailbox mailbox = mailbox_for(4);
    mailbox.sleep = mailbox_sleep;
    by_mailbox(&mailbox, LONG_MS, case_abandon, 2);
    by_mailbox(&mailbox, 200, case_silent, 1);
    by_mailbox(&mailbox, 10, case_circle, 0);
    by_mailbox(&mailbox, 400, case_late_chain, 0);
}

/* Worker 0 waits for worker 1, to which it has sent what that has not asked for; worker 1 waits for
 * worker 2, which is not there. Worker 0 has waited for longer. */
static const char *waits_behind_data(struct syn_group *group, size_t actor)
{
    (void)actor;
    struct syn_request requests[2] = {{0}};
    struct timespec late = {.tv_nsec = 100000000L * (long)group->rank};
    char bytes[3] = {0};
    if (group->rank == 2)
        return ""; /* and closes */
    nanosleep(&late, NULL);
    if (group->rank == 0)
        syn_group_send(group, 1, bytes, sizeof bytes, &requests[0]);
    syn_group_receive(group, group->rank + 1, bytes, sizeof bytes, &requests[1]);
    enum syn_status status = syn_group_wait(group, requests, 2);
    bool is_right = status == SYN_TIMEOUT && strstr(syn_error_text(), "worker 2 stayed silent");
    return is_right ? "" : "worker 2 was not found to be the silent one";
}

static void whoever_waits_behind_data_that_nobody_asks_for_is_not_silent(void **state)
{
    (void)state;
    for (int sleeps = 0; sleeps < 2; sleeps++) {
        struct mailbox mailbox = mailbox_for(3);
        mailbox.sleep = sleeps ? mailbox_sleep : NULL;
        by_mailbox(&mailbox, 500, waits_behind_data, 0);
    }
}

static void a_failure_reaches_workers_that_cannot_hear_the_one_who_fails(void **state)
{
    (void)state;
    struct mailbox mailbox = mailbox_for(3);
    mailbox.is_cut = true; /* the ring of waits does not use that way, only control messages do */
    by_mailbox(&mailbox, LONG_MS, case_abandon, 0);
}

/* What nobody can cancel stays allocated, and reachable from here. */
static void *left_behind[MOST * MOST];
static size_t left_behind_count;

static int await_and_remember(void *context, size_t peer, void *bytes, size_t count, void **handle)
{
    static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
    int code = mailbox_receive(context, peer, bytes, count, handle);
    pthread_mutex_lock(&mutex);
    left_behind[left_behind_count++ % (MOST * MOST)] = *handle;
    pthread_mutex_unlock(&mutex);
    return code;
}

static void a_host_without_cancel_will_do(void **state)
{
    (void)state;
    struct mailbox mailbox = mailbox_for(2);
    struct worker workers[2] = {{0}};
    for (size_t i = 0; i < 2; i++) {
        workers[i].place = (struct mailbox_place){.mailbox = &mailbox, .rank = i};
        struct syn_caller_transport host = {.context = &workers[i].place,
                                            .start_send = mailbox_send,
                                            .start_receive = await_and_remember,
                                            .test = mailbox_test};
        assert_ok(syn_group_open_caller(&host, i, 2, NULL, &workers[i].group));
    }
    perform(workers, 2, case_every_pair, 0);
    mailbox_empty(&mailbox);
}

static const char *fails_to_send(struct syn_group *group, size_t actor)
{
    (void)actor;
    struct syn_request requests[2] = {{0}};
    char byte = 0;
    if (syn_group_send(group, 1 - group->rank, &byte, 1, &requests[0]) == SYN_OK)
        syn_group_receive(group, 1 - group->rank, &byte, 1, &requests[1]);
    enum syn_status status = syn_group_wait(group, requests, 2);
    return status == SYN_PEER && strstr(syn_error_text(), "start_send returned 17") ? ""
                                                                                    : "no error";
}

static void a_host_function_that_fails_is_told_with_its_code(void **state)
{
    (void)state;
    for (int sends = 0; sends < 2; sends++) {
        struct mailbox mailbox = mailbox_for(2);
        mailbox.sends_left = sends;
        by_mailbox(&mailbox, 200, fails_to_send, 0);
    }
}

/* Worker 2 has died. Worker 0 waits for it, and worker 1 for worker 0. */
static const char *find_the_dead_one(struct syn_group *group, size_t actor)
{
    char byte;
    struct syn_request request;
    if (group->rank == actor)
        return "";
    syn_group_receive(group, group->rank == 0 ? actor : 0, &byte, 1, &request);
    enum syn_status status = syn_group_wait(group, &request, 1);
    bool is_right = status == SYN_PEER && strncmp(syn_error_text(), "worker 2 died", 13) == 0;
    return is_right ? "" : "worker 2 was not named first";
}

static void all_survivors_name_the_one_whose_connection_failed(void **state)
{
    (void)state;
    struct mailbox mailbox = mailbox_for(3);
    mailbox.dead = 2;
    by_mailbox(&mailbox, LONG_MS, find_the_dead_one, 2);
}

static void a_launcher_is_known_by_its_environment(void **state)
{
    (void)state;
    unsetenv("OMPI_COMM_WORLD_SIZE");
    unsetenv("PMIX_RANK");
    unsetenv("PMI_RANK");
    unsetenv("PMI_SIZE");
    unsetenv("MV2_COMM_WORLD_SIZE");
    assert_false(syn_group_under_mpi());
    setenv("PMI_SIZE", "4", 1);
    assert_true(syn_group_under_mpi());
    unsetenv("PMI_SIZE");
}

/* Open MPI's mpirun ends all when one fails; whoever else starts them does not. */
static void some_launchers_let_others_wait_for_one_that_failed(void **state)
{
    (void)state;
    assert_false(syn_launcher_lets_wait());
    setenv("PMI_RANK", "1", 1);
    setenv("PMI_SIZE", "1", 1);
    assert_false(syn_launcher_lets_wait());
    setenv("PMI_SIZE", "2", 1);
    assert_true(syn_launcher_lets_wait());
    setenv("OMPI_COMM_WORLD_SIZE", "2", 1);
    assert_false(syn_launcher_lets_wait());
    unsetenv("OMPI_COMM_WORLD_SIZE");
    unsetenv("PMI_SIZE");
    unsetenv("PMI_RANK");
}

static void tasks_of_srun_without_mpi_are_refused(void **state)
{
    (void)state;
    assert_ok(syn_group_check_alone());
    setenv("SLURM_STEP_NUM_TASKS", "1", 1);
    assert_ok(syn_group_check_alone());
    setenv("SLURM_STEP_NUM_TASKS", "3", 1);
    assert_status(SYN_INVALID, syn_group_check_alone());
    assert_non_null(strstr(syn_error_text(), "srun started 3 processes"));
    setenv("PMIX_RANK", "0", 1); /* MPI will find the others, or say that it does not */
    assert_ok(syn_group_check_alone());
    unsetenv("PMIX_RANK");
    unsetenv("SLURM_STEP_NUM_TASKS");
}

#ifdef SYNCOPATE_HAS_MPI
static const bool has_mpi = true;
#else
static const bool has_mpi = false;
#endif

static void a_build_without_mpi_says_so(void **state)
{
    (void)state;
    if (has_mpi)
        skip();
    struct syn_group *group;
    assert_status(SYN_UNSUPPORTED, syn_group_open_mpi(NULL, NULL, &group));
    assert_non_null(strstr(syn_error_text(), "build Syncopate with MPI"));
}

static void a_group_is_opened_by_the_name_of_its_transport(void **state)
{
    (void)state;
    struct syn_group *groups[3];
    const struct syn_group_place place = {.workers = 3};
    assert_int_equal(syn_group_open("threads", &place, NULL, groups), SYN_OK);
    for (size_t i = 0; i < 3; i++) {
        assert_string_equal(syn_group_transport(groups[i]), "threads");
        assert_int_equal(syn_group_rank(groups[i]), i);
        syn_group_close(groups[i]);
    }
    assert_int_equal(syn_group_open("pigeons", &place, NULL, groups), SYN_INVALID);
    assert_string_equal(syn_error_text(),
                        "unknown transport \"pigeons\"; expected one of threads, mpi, caller");
    assert_int_equal(syn_group_open("threads", NULL, NULL, groups), SYN_INVALID);
    assert_int_equal(syn_group_open("caller", NULL, NULL, groups), SYN_INVALID);
}

static void every_transport_has_a_row(void **state)
{
    (void)state;
    static const char *const names[] = {"threads", "mpi", "caller"};
    for (size_t i = 0; i < 3; i++)
        assert_string_equal(syn_transport_name(i), names[i]);
    assert_null(syn_transport_name(3));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_pair_of_threads_exchanges_messages_of_all_sizes),
        cmocka_unit_test(threads_keep_the_order_of_many_messages_under_way),
        cmocka_unit_test(wrong_peers_are_refused_and_leave_the_group_whole),
        cmocka_unit_test(a_message_larger_than_the_room_breaks_the_group_of_threads),
        cmocka_unit_test(a_silent_thread_is_named_by_all_others),
        cmocka_unit_test(a_thread_that_gives_up_makes_all_others_fail_with_its_cause),
        cmocka_unit_test(workers_that_wait_in_a_circle_find_out),
        cmocka_unit_test(the_first_failure_is_the_cause),
        cmocka_unit_test(whoever_waits_is_not_silent),
        cmocka_unit_test(messages_are_taken_as_they_come),
        cmocka_unit_test(a_silent_thread_is_named_however_busy_the_others_are),
        cmocka_unit_test(groups_close_in_any_order_without_having_been_used),
        cmocka_unit_test(impossible_groups_are_refused),
        cmocka_unit_test(a_host_brings_every_pair_together),
        cmocka_unit_test(over_a_host_failures_reach_everybody_too),
        cmocka_unit_test(a_host_that_can_sleep_keeps_every_promise_too),
        cmocka_unit_test(whoever_waits_behind_data_that_nobody_asks_for_is_not_silent),
        cmocka_unit_test(a_failure_reaches_workers_that_cannot_hear_the_one_who_fails),
        cmocka_unit_test(a_host_without_cancel_will_do),
        cmocka_unit_test(a_host_function_that_fails_is_told_with_its_code),
        cmocka_unit_test(all_survivors_name_the_one_whose_connection_failed),
        cmocka_unit_test(a_launcher_is_known_by_its_environment),
        cmocka_unit_test(some_launchers_let_others_wait_for_one_that_failed),
        cmocka_unit_test(tasks_of_srun_without_mpi_are_refused),
        cmocka_unit_test(a_build_without_mpi_says_so),
        cmocka_unit_test(a_group_is_opened_by_the_name_of_its_transport),
        cmocka_unit_test(every_transport_has_a_row),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

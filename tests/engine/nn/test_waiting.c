/* How computing threads wait: the rule, and that it reaches libgomp. */
#include "check.h"

#include <stdlib.h>
#include <time.h>

#include "engine/nn/parallel.h"
#include "engine/nn/waiting.h"

#define MS(n) ((n)*INT64_C(1000000))

static void a_thread_that_lacks_a_core_makes_all_wait_briefly(void **state)
{
    (void)state;
    struct waiting_rule rule = {0};
    assert_false(waiting_decide(&rule, MS(250), MS(2)));
    assert_true(waiting_decide(&rule, MS(250), MS(100)));
}

static void a_short_calm_does_not_bring_long_spinning_back(void **state)
{
    (void)state;
    struct waiting_rule rule = {0};
    waiting_decide(&rule, MS(250), MS(100));
    for (int i = 0; i < 19; i++)
        assert_true(waiting_decide(&rule, MS(250), 0));
    waiting_decide(&rule, MS(250), MS(100)); /* the calm begins anew */
    for (int i = 0; i < 19; i++)
        assert_true(waiting_decide(&rule, MS(250), 0));
    assert_false(waiting_decide(&rule, MS(250), 0));
}

static void without_knowledge_they_wait_briefly(void **state)
{
    (void)state;
    struct waiting_rule rule = {0};
    assert_true(waiting_decide(&rule, MS(250), -1));
}

static void do_little(void *context, size_t part, size_t begin, size_t end)
{
    int *done = context;
    (void)begin;
    (void)end;
    done[part * 64] = 1;
}

static int64_t used_ns(void)
{
    struct timespec now;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
    return now.tv_sec * MS(1000) + now.tv_nsec;
}

/* Processor time, which other work on the machine does not lengthen. libgomp left alone spins for
 * some 3 ms after each of these, 150 ms in all. */
static void waiting_briefly_uses_next_to_no_processor(void **state)
{
    (void)state;
    int done[2 * 64];
    waiting_set_brief(true);
    parallel_run(2, 2, do_little, done);
    int64_t before_ns = used_ns();
    for (int i = 0; i < 50; i++) {
        struct timespec pause = {0, MS(8)};
        parallel_run(2, 2, do_little, done);
        nanosleep(&pause, NULL);
    }
    int64_t spent_ns = used_ns() - before_ns;
    if (spent_ns > MS(40))
        fail_msg("50 short loops took %lld us of processor time", (long long)spent_ns / 1000);
    waiting_set_brief(false);
    waiting_set_brief(false); /* twice is harmless */
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_thread_that_lacks_a_core_makes_all_wait_briefly),
        cmocka_unit_test(a_short_calm_does_not_bring_long_spinning_back),
        cmocka_unit_test(without_knowledge_they_wait_briefly),
        cmocka_unit_test(waiting_briefly_uses_next_to_no_processor),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

/* Wake-ups by MPI's sockets: found without help, trusted when they have earned it, and never in the
 * way of a process that has none. */
#include "check.h"

#include <sys/epoll.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "transport/transport.h"
#include "transport/wakeup.h"

#define MILLISECOND INT64_C(1000000)

/* Something that is watched, as MPI has its sockets. */
struct watched {
    int watcher;
    int ends[2];
};

static int open_watched(void **state)
{
    static struct watched w;
    struct epoll_event readable = {.events = EPOLLIN};
    w.watcher = epoll_create1(0);
    if (w.watcher < 0 || pipe(w.ends) || epoll_ctl(w.watcher, EPOLL_CTL_ADD, w.ends[0], &readable))
        return -1;
    *state = &w;
    return 0;
}

static int close_watched(void **state)
{
    const struct watched *w = *state;
    close(w->watcher);
    close(w->ends[0]);
    close(w->ends[1]);
    return 0;
}

static void arrive(const struct watched *w)
{
    assert_int_equal(write(w->ends[1], "x", 1), 1);
}

static void take(const struct watched *w)
{
    char byte;
    assert_int_equal(read(w->ends[0], &byte, 1), 1);
}

/* A message comes; a wake-up announces it. */
static void announce(struct syn_wakeup *wakeup, const struct watched *w)
{
    arrive(w);
    assert_true(syn_wakeup_wait(wakeup, syn_clock_ns() + 10000 * MILLISECOND, MILLISECOND));
    take(w);
    syn_wakeup_learn(wakeup);
}

/* How long it lets sleep when nothing comes and a plain sleep would be of a microsecond. */
static int64_t silent_ns(struct syn_wakeup *wakeup)
{
    int64_t began_ns = syn_clock_ns();
    assert_true(syn_wakeup_wait(wakeup, began_ns + 10000 * MILLISECOND, 1000));
    return syn_clock_ns() - began_ns;
}

static void one_that_announces_messages_is_believed(void **state)
{
    const struct watched *w = *state;
    struct syn_wakeup wakeup;
    syn_wakeup_open(&wakeup);
    assert_int_equal(wakeup.count, 1);
    for (int i = 0; i < 64; i++)
        announce(&wakeup, w);
    assert_true(silent_ns(&wakeup) >= MILLISECOND);
    arrive(w); /* and wakes at once although it would sleep long */
    int64_t began_ns = syn_clock_ns();
    assert_true(syn_wakeup_wait(&wakeup, began_ns + 10000 * MILLISECOND, 1000));
    take(w);
    syn_wakeup_learn(&wakeup);
    assert_int_equal(wakeup.trust, 64);
}

static void one_that_misses_messages_is_not(void **state)
{
    const struct watched *w = *state;
    struct syn_wakeup wakeup;
    syn_wakeup_open(&wakeup);
    for (int i = 0; i < 1000; i++) {
        for (int j = 0; j < 7; j++)
            announce(&wakeup, w);
        silent_ns(&wakeup); /* for a microsecond, or this test takes two seconds */
        syn_wakeup_learn(&wakeup);
        assert_int_equal(wakeup.trust, 0);
    }
}

static void a_spurious_wakeup_is_followed_by_a_plain_sleep(void **state)
{
    const struct watched *w = *state;
    struct syn_wakeup wakeup;
    syn_wakeup_open(&wakeup);
    arrive(w);
    int64_t until_ns = syn_clock_ns() + 10000 * MILLISECOND;
    assert_true(syn_wakeup_wait(&wakeup, until_ns, MILLISECOND));
    assert_false(syn_wakeup_wait(&wakeup, until_ns, MILLISECOND));
    assert_true(syn_wakeup_wait(&wakeup, until_ns, MILLISECOND));
    take(w);
}

static void it_sleeps_no_longer_than_asked(void **state)
{
    const struct watched *w = *state;
    struct syn_wakeup wakeup;
    syn_wakeup_open(&wakeup);
    for (int i = 0; i < 64; i++)
        announce(&wakeup, w);
    int64_t past_ns = syn_clock_ns() - MILLISECOND;
    assert_false(syn_wakeup_wait(&wakeup, past_ns, MILLISECOND));
}

static void without_one_nobody_sleeps_by_it(void **state)
{
    (void)state;
    struct syn_wakeup wakeup;
    syn_wakeup_open(&wakeup);
    assert_int_equal(wakeup.count, 0);
    assert_false(syn_wakeup_wait(&wakeup, syn_clock_ns() + 10000 * MILLISECOND, MILLISECOND));
    syn_wakeup_learn(&wakeup);
}

/* Wait as a worker does for a message that does not come, and find that it takes next to no
 * processor time: by the time itself, and by how often it looked. */
static void assert_waits_without_spinning(struct syn_wakeup *wakeup)
{
    struct timespec before;
    struct timespec after;
    int64_t began_ns = syn_clock_ns();
    size_t looks = 0;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &before);
    for (int64_t waited_ns = 0; waited_ns < 1500 * MILLISECOND; looks++) {
        if (!syn_wakeup_wait(wakeup, began_ns + 10000 * MILLISECOND,
                             syn_group_back_off_ns(waited_ns)))
            syn_group_back_off(waited_ns);
        waited_ns = syn_clock_ns() - began_ns;
    }
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &after);
    double used = difftime(after.tv_sec, before.tv_sec) + 1e-9 * (double)after.tv_nsec -
                  1e-9 * (double)before.tv_nsec;
    if (used > 0.3 || looks > 15000)
        fail_msg("%zu looks and %g s of processor time in 1.5 s of waiting", looks, used);
}

static void waiting_does_not_spin_when_the_host_closes_its_descriptor(void **state)
{
    struct watched *w = *state;
    struct syn_wakeup wakeup;
    syn_wakeup_open(&wakeup);
    for (int i = 0; i < 64; i++)
        announce(&wakeup, w);
    close(w->watcher);
    assert_waits_without_spinning(&wakeup);
    assert_int_equal(wakeup.count, 0);
    w->watcher = epoll_create1(0); /* to be closed */
}

static void waiting_does_not_spin_when_the_number_is_given_to_something_ready(void **state)
{
    struct watched *w = *state;
    struct syn_wakeup wakeup;
    syn_wakeup_open(&wakeup);
    for (int i = 0; i < 64; i++)
        announce(&wakeup, w);
    arrive(w);
    assert_int_equal(dup2(w->ends[0], w->watcher), w->watcher);
    assert_waits_without_spinning(&wakeup);
    assert_int_equal(wakeup.count, 0);
    take(w);
}

static void waiting_does_not_spin_by_a_host_that_never_takes_what_is_ready(void **state)
{
    const struct watched *w = *state;
    struct syn_wakeup wakeup;
    syn_wakeup_open(&wakeup);
    for (int i = 0; i < 64; i++)
        announce(&wakeup, w);
    arrive(w);
    assert_waits_without_spinning(&wakeup);
    assert_int_equal(wakeup.count, 1);
    take(w);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(one_that_announces_messages_is_believed, open_watched,
                                        close_watched),
        cmocka_unit_test_setup_teardown(one_that_misses_messages_is_not, open_watched,
                                        close_watched),
        cmocka_unit_test_setup_teardown(a_spurious_wakeup_is_followed_by_a_plain_sleep,
                                        open_watched, close_watched),
        cmocka_unit_test_setup_teardown(it_sleeps_no_longer_than_asked, open_watched,
                                        close_watched),
        cmocka_unit_test_setup_teardown(waiting_does_not_spin_when_the_host_closes_its_descriptor,
                                        open_watched, close_watched),
        cmocka_unit_test_setup_teardown(
            waiting_does_not_spin_when_the_number_is_given_to_something_ready, open_watched,
            close_watched),
        cmocka_unit_test_setup_teardown(
            waiting_does_not_spin_by_a_host_that_never_takes_what_is_ready, open_watched,
            close_watched),
        cmocka_unit_test(without_one_nobody_sleeps_by_it),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

/* The thread exists while there are groups. It blocks all signals, which belong to the host. */
#include "transport/attend.h"

#include <pthread.h>
#include <signal.h>

#include "base/clock.h"
#include "transport/alive.h"

/* How often it checks: several times within the period in which an answer is expected. */
#define LEAST_NS (20 * SYN_MILLISECOND)
#define MOST_NS  (500 * SYN_MILLISECOND)

/* MPI may receive a message one part at a time. */
#define LOOKS 4

static struct {
    pthread_mutex_t life; /* guards thread; held while it starts or ends */
    pthread_mutex_t mutex;
    pthread_cond_t changed;
    pthread_t thread;
    struct syn_group *first;
    bool is_ending;
} attendant = {.life = PTHREAD_MUTEX_INITIALIZER, .mutex = PTHREAD_MUTEX_INITIALIZER};

static int64_t period_ns(const struct syn_group *group)
{
    int64_t ns = group->timeout_ns / 8;
    return ns < LEAST_NS ? LEAST_NS : ns > MOST_NS ? MOST_NS : ns;
}

static void attend(struct syn_group *group)
{
    if (pthread_mutex_trylock(&group->mutex) != 0)
        return;
    for (int i = 0; i < LOOKS && group->broken == SYN_OK; i++)
        syn_control_receive(group);
    pthread_mutex_unlock(&group->mutex);
}

static void *run(void *unused)
{
    (void)unused;
    pthread_mutex_lock(&attendant.mutex);
    while (!attendant.is_ending) {
        int64_t sleep_ns = MOST_NS;
        for (struct syn_group *group = attendant.first; group; group = group->next) {
            attend(group);
            sleep_ns = period_ns(group) < sleep_ns ? period_ns(group) : sleep_ns;
        }
        struct timespec until = syn_clock_timespec(syn_clock_ns() + sleep_ns);
        pthread_cond_timedwait(&attendant.changed, &attendant.mutex, &until);
    }
    pthread_mutex_unlock(&attendant.mutex);
    return NULL;
}

/* Called with life held, when there is no thread yet. */
static enum syn_status start(void)
{
    pthread_condattr_t monotonic;
    sigset_t all;
    sigset_t before;
    attendant.is_ending = false;
    pthread_condattr_init(&monotonic);
    pthread_condattr_setclock(&monotonic, CLOCK_MONOTONIC);
    pthread_cond_init(&attendant.changed, &monotonic);
    pthread_condattr_destroy(&monotonic);
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    int code = pthread_create(&attendant.thread, NULL, run, NULL);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    if (code == 0)
        return SYN_OK;
    pthread_cond_destroy(&attendant.changed);
    return syn_fail(SYN_MEMORY, "cannot start the thread that answers for busy workers");
}

enum syn_status syn_attend_begin(struct syn_group *group)
{
    if (group->size < 2) /* nobody sends pings */
        return SYN_OK;
    pthread_mutex_lock(&attendant.life);
    enum syn_status status = attendant.first ? SYN_OK : start();
    if (status == SYN_OK) {
        pthread_mutex_lock(&attendant.mutex);
        group->is_attended = true;
        group->next = attendant.first;
        attendant.first = group;
        pthread_cond_signal(&attendant.changed);
        pthread_mutex_unlock(&attendant.mutex);
    }
    pthread_mutex_unlock(&attendant.life);
    return status;
}

void syn_attend_end(struct syn_group *group)
{
    if (!group->is_attended)
        return;
    pthread_mutex_lock(&attendant.life);
    pthread_mutex_lock(&attendant.mutex);
    struct syn_group **link = &attendant.first;
    while (*link != group)
        link = &(*link)->next;
    *link = group->next;
    group->is_attended = false;
    bool is_last = !attendant.first;
    attendant.is_ending = is_last;
    pthread_cond_signal(&attendant.changed);
    pthread_mutex_unlock(&attendant.mutex);
    if (is_last) {
        pthread_join(attendant.thread, NULL);
        pthread_cond_destroy(&attendant.changed);
    }
    pthread_mutex_unlock(&attendant.life);
}

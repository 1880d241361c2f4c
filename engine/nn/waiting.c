/* libgomp reads its spin count from the environment before main() begins, too early for us. But it
 * spins only a hundred times, which is microseconds, while it has more threads than there are cores
 * (documented in its manual under GOMP_SPINCOUNT). So a sleeping team, one thread larger than the
 * machine, shortens the spinning of all others; ending it restores the long spinning. */
#include "engine/nn/waiting.h"

#include <dirent.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

#include "engine/base/clock.h"

extern int omp_get_num_procs(void);
extern void GOMP_parallel(void (*body)(void *), void *context, unsigned threads, unsigned flags);

#define TASKS   "/proc/self/task"
#define LOOK_NS INT64_C(250000000)

/* Shared: our threads together lack cores for a tenth of the time; on a dedicated machine it is a
 * hundredth, next to other work a half and more. Long spinning is tried again only after a long
 * calm, because a try costs one interval at the speed that this code exists to avoid. */
#define SHARED_PART 0.1
#define CALM_NS     INT64_C(5000000000)

bool waiting_decide(struct waiting_rule *rule, int64_t elapsed_ns, int64_t delay_ns)
{
    bool is_shared = delay_ns < 0 || (double)delay_ns > SHARED_PART * (double)elapsed_ns;
    rule->calm_ns = is_shared ? 0 : rule->calm_ns + elapsed_ns;
    if (is_shared)
        rule->is_brief = true;
    else if (rule->calm_ns >= CALM_NS)
        rule->is_brief = false;
    return rule->is_brief;
}

/* The sleeping team. */
static struct {
    pthread_mutex_t lock;
    pthread_cond_t changed;
    pthread_t leader;
    bool is_there;  /* the leader has been started */
    bool is_asleep; /* its team is complete */
    bool may_end;
} crowd = {.lock = PTHREAD_MUTEX_INITIALIZER, .changed = PTHREAD_COND_INITIALIZER};

static void do_nothing(void *unused)
{
    (void)unused;
}

static void *lead(void *unused)
{
    GOMP_parallel(do_nothing, NULL, (unsigned)omp_get_num_procs() + 1, 0);
    pthread_mutex_lock(&crowd.lock);
    crowd.is_asleep = true;
    pthread_cond_broadcast(&crowd.changed);
    while (!crowd.may_end)
        pthread_cond_wait(&crowd.changed, &crowd.lock);
    pthread_mutex_unlock(&crowd.lock);
    return unused;
}

static void gather_crowd(void)
{
    crowd.is_asleep = false;
    crowd.may_end = false;
    crowd.is_there = pthread_create(&crowd.leader, NULL, lead, NULL) == 0;
    while (crowd.is_there && !crowd.is_asleep)
        pthread_cond_wait(&crowd.changed, &crowd.lock);
}

/* libgomp releases a team when its leader ends. */
static void dissolve_crowd(void)
{
    crowd.may_end = true;
    pthread_cond_broadcast(&crowd.changed);
    pthread_mutex_unlock(&crowd.lock);
    pthread_join(crowd.leader, NULL);
    pthread_mutex_lock(&crowd.lock);
    crowd.is_there = false;
}

void waiting_set_brief(bool is_brief)
{
    static pthread_mutex_t one_at_a_time = PTHREAD_MUTEX_INITIALIZER;
    pthread_mutex_lock(&one_at_a_time);
    pthread_mutex_lock(&crowd.lock);
    if (is_brief && !crowd.is_there)
        gather_crowd();
    else if (!is_brief && crowd.is_there)
        dissolve_crowd();
    pthread_mutex_unlock(&crowd.lock);
    pthread_mutex_unlock(&one_at_a_time);
}

/* The delay of one thread, as counted by the scheduler. */
static int64_t delay_of(const char *task)
{
    char path[64];
    unsigned long long delay_ns = 0;
    snprintf(path, sizeof path, TASKS "/%.16s/schedstat", task);
    FILE *file = fopen(path, "r");
    if (!file)
        return -1;
    bool is_read = fscanf(file, "%*u %llu", &delay_ns) == 1;
    fclose(file);
    return is_read ? (int64_t)delay_ns : -1;
}

/* The delay of all threads since they started; negative if the system does not report it. */
static int64_t total_delay(void)
{
    int64_t sum = -1;
    DIR *folder = opendir(TASKS);
    const struct dirent *entry;
    while (folder && (entry = readdir(folder))) {
        int64_t delay_ns = entry->d_name[0] == '.' ? -1 : delay_of(entry->d_name);
        if (delay_ns >= 0) /* negative: it has ended */
            sum = (sum < 0 ? 0 : sum) + delay_ns;
    }
    if (folder)
        closedir(folder);
    return sum;
}

static struct {
    pthread_mutex_t lock;
    int64_t looked_ns; /* 0: never */
    int64_t delay_ns;  /* at that time */
    bool is_users_choice;
    struct waiting_rule rule;
} view = {.lock = PTHREAD_MUTEX_INITIALIZER};

static void look(int64_t now_ns)
{
    int64_t delay_ns = total_delay();
    int64_t more_ns = delay_ns < view.delay_ns ? 0 : delay_ns - view.delay_ns; /* threads ended */
    int64_t elapsed_ns = now_ns - view.looked_ns;
    bool is_first = view.looked_ns == 0;
    view.looked_ns = now_ns;
    view.delay_ns = delay_ns;
    if (delay_ns < 0)
        waiting_set_brief(true);
    else if (!is_first)
        waiting_set_brief(waiting_decide(&view.rule, elapsed_ns, more_ns));
}

void waiting_adapt(void)
{
    if (pthread_mutex_trylock(&view.lock) != 0)
        return; /* another worker of this process is measuring */
    int64_t now_ns = syn_engine_clock_ns();
    if (view.looked_ns == 0)
        view.is_users_choice = getenv("OMP_WAIT_POLICY") || getenv("GOMP_SPINCOUNT");
    if (!view.is_users_choice && (view.looked_ns == 0 || now_ns - view.looked_ns >= LOOK_NS))
        look(now_ns);
    pthread_mutex_unlock(&view.lock);
}

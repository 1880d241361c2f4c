/* Linux shows a process what its descriptors are; elsewhere there is no such folder and so no
 * bell. */
#include "transport/bell.h"

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/select.h>
#include <unistd.h>

#include "base/clock.h"

#define FOLDER "/proc/self/fd"

/* It is believed from the first amount of trust on; one message that came unannounced costs as much
 * trust as that many others gave. A few do come so: those that MPI takes in while it is asked for
 * another. */
enum { ENOUGH_TRUST = 8, MOST_TRUST = 64, LOST_TRUST = 32 };

/* The longest sleep. A message that comes unannounced lies for so long. */
#define LONGEST_NS INT64_C(2000000)

/* So many rings for nothing are usual while a long message comes in parts. Twice as many each
 * time, and MOST_NAPS at last, are the naps after one of those beyond. */
enum { USUAL_IN_VAIN = 8, MOST_NAPS = 64 };

static bool is_watcher(int descriptor)
{
    char path[sizeof FOLDER + 32];
    char target[32];
    snprintf(path, sizeof path, FOLDER "/%d", descriptor);
    ssize_t length = readlink(path, target, sizeof target - 1);
    if (length < 0)
        return false;
    target[length] = '\0';
    return strcmp(target, "anon_inode:[eventpoll]") == 0;
}

void syn_bell_open(struct syn_bell *bell)
{
    *bell = (struct syn_bell){.count = 0};
    DIR *folder = opendir(FOLDER);
    if (!folder)
        return;
    const struct dirent *entry;
    while (bell->count < SYN_BELL_MOST && (entry = readdir(folder))) {
        long number = strtol(entry->d_name, NULL, 10);
        if (number > 0 && number < FD_SETSIZE && is_watcher((int)number))
            bell->watchers[bell->count++] = (int)number;
    }
    closedir(folder);
}

/* Let go of descriptors that have been closed, or are something else by now. */
static void check_watchers(struct syn_bell *bell)
{
    size_t kept = 0;
    for (size_t i = 0; i < bell->count; i++)
        if (is_watcher(bell->watchers[i]))
            bell->watchers[kept++] = bell->watchers[i];
    bell->count = kept;
}

/* Positive if it rings, 0 if not, negative if it could not be listened to. */
static int rings_within(const struct syn_bell *bell, int64_t limit_ns)
{
    fd_set watched;
    int last = 0;
    FD_ZERO(&watched);
    for (size_t i = 0; i < bell->count; i++) {
        FD_SET(bell->watchers[i], &watched);
        last = bell->watchers[i] > last ? bell->watchers[i] : last;
    }
    struct timespec limit = syn_clock_timespec(limit_ns);
    return pselect(last + 1, &watched, NULL, NULL, &limit, NULL);
}

/* After a ring that no message came of, as when only a part of one is here, the next sleep is a
 * plain one: otherwise a long message would wake its receiver with every packet. After many, there
 * are many plain ones. */
static void ring_in_vain(struct syn_bell *bell)
{
    uint32_t beyond = bell->in_vain > USUAL_IN_VAIN ? bell->in_vain - USUAL_IN_VAIN : 0;
    bell->in_vain++;
    bell->naps = beyond > 5 ? MOST_NAPS : 1U << beyond;
    if (beyond > 0)
        check_watchers(bell);
}

bool syn_bell_await(struct syn_bell *bell, int64_t until_ns, int64_t nap_ns)
{
    if (bell->has_rung)
        ring_in_vain(bell);
    bell->has_rung = false;
    if (bell->count == 0 || bell->naps > 0) {
        bell->naps -= bell->naps > 0;
        return false;
    }
    int64_t limit_ns = nap_ns;
    if (bell->trust >= ENOUGH_TRUST) {
        int64_t left_ns = until_ns - syn_clock_ns();
        limit_ns = left_ns < 0 ? 0 : left_ns < LONGEST_NS ? left_ns : LONGEST_NS;
    }
    if (limit_ns == 0)
        return false;
    int rings = rings_within(bell, limit_ns);
    if (rings < 0) { /* closed; or a signal came */
        check_watchers(bell);
        return false;
    }
    bell->has_rung = rings > 0;
    bell->was_silent = !bell->has_rung;
    return true;
}

void syn_bell_learn(struct syn_bell *bell)
{
    if (bell->has_rung)
        bell->trust += bell->trust < MOST_TRUST;
    else if (bell->was_silent)
        bell->trust = bell->trust > LOST_TRUST ? bell->trust - LOST_TRUST : 0;
    bell->has_rung = false;
    bell->was_silent = false;
    bell->in_vain = 0;
    bell->naps = 0;
}

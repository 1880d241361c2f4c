/* Linux lets a process list its descriptors; other systems lack this folder, so there is no
 * wake-up. */
#include "transport/wakeup.h"

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/select.h>
#include <unistd.h>

#include "base/clock.h"

#define FOLDER "/proc/self/fd"

/* Wake-ups are trusted from ENOUGH_TRUST on; one message that arrived unannounced costs LOST_TRUST,
 * as much as that many announced messages add. A few do arrive that way: those that MPI processes
 * while it is asked for another. */
enum { ENOUGH_TRUST = 8, MOST_TRUST = 64, LOST_TRUST = 32 };

/* The longest sleep, and so the longest delay of a message that arrives unannounced. */
#define LONGEST_NS INT64_C(2000000)

/* USUAL_SPURIOUS spurious wake-ups are normal while a long message arrives in parts. After each
 * further one, the number of plain sleeps doubles, up to MOST_SLEEPS. */
enum { USUAL_SPURIOUS = 8, MOST_SLEEPS = 64 };

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

void syn_wakeup_open(struct syn_wakeup *wakeup)
{
    *wakeup = (struct syn_wakeup){.count = 0};
    DIR *folder = opendir(FOLDER);
    if (!folder)
        return;
    const struct dirent *entry;
    while (wakeup->count < SYN_WAKEUP_MOST && (entry = readdir(folder))) {
        long number = strtol(entry->d_name, NULL, 10);
        if (number > 0 && number < FD_SETSIZE && is_watcher((int)number))
            wakeup->watchers[wakeup->count++] = (int)number;
    }
    closedir(folder);
}

/* Drop descriptors that have been closed or now refer to something else. */
static void check_watchers(struct syn_wakeup *wakeup)
{
    size_t kept = 0;
    for (size_t i = 0; i < wakeup->count; i++)
        if (is_watcher(wakeup->watchers[i]))
            wakeup->watchers[kept++] = wakeup->watchers[i];
    wakeup->count = kept;
}

/* Positive if something woke us, 0 if not, negative if the descriptors could not be watched. */
static int wakes_within(const struct syn_wakeup *wakeup, int64_t limit_ns)
{
    fd_set watched;
    int last = 0;
    FD_ZERO(&watched);
    for (size_t i = 0; i < wakeup->count; i++) {
        FD_SET(wakeup->watchers[i], &watched);
        last = wakeup->watchers[i] > last ? wakeup->watchers[i] : last;
    }
    struct timespec limit = syn_clock_timespec(limit_ns);
    return pselect(last + 1, &watched, NULL, NULL, &limit, NULL);
}

/* After a wake-up without a message, as when only a part of one has arrived, the next sleep is a
 * plain one: otherwise a long message would wake its receiver with every packet. After many such
 * wake-ups, many plain sleeps follow. */
static void note_spurious(struct syn_wakeup *wakeup)
{
    uint32_t beyond = wakeup->spurious > USUAL_SPURIOUS ? wakeup->spurious - USUAL_SPURIOUS : 0;
    wakeup->spurious++;
    wakeup->sleeps = beyond > 5 ? MOST_SLEEPS : 1U << beyond;
    if (beyond > 0)
        check_watchers(wakeup);
}

bool syn_wakeup_wait(struct syn_wakeup *wakeup, int64_t until_ns, int64_t back_off_ns)
{
    if (wakeup->has_woken)
        note_spurious(wakeup);
    wakeup->has_woken = false;
    if (wakeup->count == 0 || wakeup->sleeps > 0) {
        wakeup->sleeps -= wakeup->sleeps > 0;
        return false;
    }
    int64_t limit_ns = back_off_ns;
    if (wakeup->trust >= ENOUGH_TRUST) {
        int64_t left_ns = until_ns - syn_clock_ns();
        limit_ns = left_ns < 0 ? 0 : left_ns < LONGEST_NS ? left_ns : LONGEST_NS;
    }
    if (limit_ns == 0)
        return false;
    int woken = wakes_within(wakeup, limit_ns);
    if (woken < 0) { /* closed, or interrupted by a signal */
        check_watchers(wakeup);
        return false;
    }
    wakeup->has_woken = woken > 0;
    wakeup->was_silent = !wakeup->has_woken;
    return true;
}

void syn_wakeup_learn(struct syn_wakeup *wakeup)
{
    if (wakeup->has_woken)
        wakeup->trust += wakeup->trust < MOST_TRUST;
    else if (wakeup->was_silent)
        wakeup->trust = wakeup->trust > LOST_TRUST ? wakeup->trust - LOST_TRUST : 0;
    wakeup->has_woken = false;
    wakeup->was_silent = false;
    wakeup->spurious = 0;
    wakeup->sleeps = 0;
}

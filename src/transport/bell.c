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

static bool is_watcher(const char *name)
{
    char path[sizeof FOLDER + 32];
    char target[32];
    snprintf(path, sizeof path, FOLDER "/%.16s", name);
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
        if (number < FD_SETSIZE && is_watcher(entry->d_name))
            bell->watchers[bell->count++] = (int)number;
    }
    closedir(folder);
}

static bool rings_within(const struct syn_bell *bell, int64_t limit_ns)
{
    fd_set watched;
    int last = 0;
    FD_ZERO(&watched);
    for (size_t i = 0; i < bell->count; i++) {
        FD_SET(bell->watchers[i], &watched);
        last = bell->watchers[i] > last ? bell->watchers[i] : last;
    }
    struct timespec limit = syn_clock_timespec(limit_ns);
    return pselect(last + 1, &watched, NULL, NULL, &limit, NULL) > 0;
}

/* After a ring that no message came of, as when only a part of one is here, the next sleep is a
 * plain one: otherwise a long message would wake its receiver with every packet. */
bool syn_bell_await(struct syn_bell *bell, int64_t until_ns, int64_t nap_ns)
{
    bool has_rung = bell->has_rung;
    bell->has_rung = false;
    if (bell->count == 0 || has_rung)
        return false;
    int64_t limit_ns = nap_ns;
    if (bell->trust >= ENOUGH_TRUST) {
        int64_t left_ns = until_ns - syn_clock_ns();
        limit_ns = left_ns < 0 ? 0 : left_ns < LONGEST_NS ? left_ns : LONGEST_NS;
    }
    if (limit_ns == 0)
        return false;
    bell->has_rung = rings_within(bell, limit_ns);
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
}

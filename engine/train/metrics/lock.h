/* One process at a time writes into the directory of a run. */
#ifndef SYN_ENGINE_TRAIN_LOCK_H
#define SYN_ENGINE_TRAIN_LOCK_H

#include <syncopate/status.h>

#define SYN_LOCK_FILE "lock"

struct syn_lock {
    int file; /* 0 if nothing is locked */
    char path[512];
};

/* Lock a directory, which must exist. Already held, by this process or another: SYN_INVALID with
 * host, process and since when. A file system without locks: a warning, and SYN_OK.
 *   lock  zeroed; release it even after a failure */
enum syn_status syn_lock_take(const char *directory, struct syn_lock *lock);

/* SYN_INVALID with host, process and since when if a run holds the directory; nothing is locked.
 *   but  what the message adds: what is missing because the run goes on */
enum syn_status syn_lock_check(const char *directory, const char *but);

/* Release it. Harmless if nothing is locked. */
void syn_lock_release(struct syn_lock *lock);

#endif

/* A lock on a file in the directory, whose contents say who holds it. It is a system lock, not the
 * existence of the file: it vanishes with the process, however that ends, so a lock is never stale.
 * Locks of fcntl() also work between the hosts of a network file system, which those of flock() do
 * not everywhere; they belong to the open file rather than to the process, so two runs of one
 * process are kept apart as well. */
#define _GNU_SOURCE /* NOLINT(bugprone-reserved-identifier): F_OFD_SETLK */
#include "engine/train/metrics/lock.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "engine/base/fail.h"

#define TEXT_BYTES 256

/* Lock the whole file for writing; false if it is held elsewhere, or with another errno if locks
 * are not supported. */
static bool lock_file(int file)
{
    struct flock whole = {.l_type = F_WRLCK, .l_whence = SEEK_SET};
    return fcntl(file, F_OFD_SETLK, &whole) == 0;
}

/* The previous holder may have removed the file after it was opened here: then the locked file is
 * one that no other process will find. */
static bool is_still_there(int file, const char *path)
{
    struct stat mine;
    struct stat there;
    return fstat(file, &mine) == 0 && stat(path, &there) == 0 && mine.st_dev == there.st_dev &&
           mine.st_ino == there.st_ino;
}

static void write_holder(int file)
{
    char host[TEXT_BYTES / 2] = "unknown";
    char since[32] = "";
    char text[TEXT_BYTES];
    struct tm when;
    time_t now = time(NULL);
    if (gethostname(host, sizeof host - 1) != 0)
        snprintf(host, sizeof host, "unknown");
    if (gmtime_r(&now, &when))
        strftime(since, sizeof since, "%Y-%m-%d %H:%M:%S UTC", &when);
    int length = snprintf(text, sizeof text, "host %s, process %ld, since %s\n", host,
                          (long)getpid(), since);
    if (ftruncate(file, 0) == 0 && pwrite(file, text, (size_t)length, 0) != length)
        syn_report_log(SYN_LOG_WARNING, "cannot record who holds the lock of the run: %s",
                       strerror(errno));
}

static void read_holder(int file, char text[TEXT_BYTES])
{
    ssize_t length = pread(file, text, TEXT_BYTES - 1, 0);
    text[length > 0 ? length : 0] = '\0';
    text[strcspn(text, "\n")] = '\0';
    if (!text[0])
        snprintf(text, TEXT_BYTES, "host unknown");
}

static enum syn_status refuse(int file, const char *directory)
{
    char text[TEXT_BYTES];
    read_holder(file, text);
    return syn_report(SYN_INVALID, "out: the run in \"%s\" is still running (%s)", directory, text);
}

/* Open the file and lock it. SYN_OK without lock->file: the file system does not support locks.
 *   is_gone  set if the file was removed meanwhile: try again */
static enum syn_status try_once(const char *directory, struct syn_lock *lock, bool *is_gone)
{
    int file = open(lock->path, O_RDWR | O_CREAT | O_CLOEXEC, 0666);
    if (file < 0)
        return syn_report(SYN_INVALID, "out: cannot lock directory \"%s\": %s", directory,
                          strerror(errno));
    bool is_mine = lock_file(file);
    int cause = errno;
    *is_gone = is_mine && !is_still_there(file, lock->path);
    if (is_mine && !*is_gone) {
        lock->file = file;
        write_holder(file);
        return SYN_OK;
    }
    bool is_taken = !is_mine && (cause == EAGAIN || cause == EACCES);
    enum syn_status status = is_taken ? refuse(file, directory) : SYN_OK;
    close(file);
    if (!is_mine && !is_taken)
        syn_report_log(SYN_LOG_WARNING,
                       "%s cannot be locked (%s): another run could write there at the same time",
                       lock->path, strerror(cause));
    return status;
}

enum syn_status syn_lock_take(const char *directory, struct syn_lock *lock)
{
    bool is_gone = true;
    int length = snprintf(lock->path, sizeof lock->path, "%s/%s", directory, SYN_LOCK_FILE);
    if (length < 0 || (size_t)length >= sizeof lock->path)
        return syn_report(SYN_INVALID, "out: path too long: %.64s...", directory);
    while (is_gone)
        SYN_TRY(try_once(directory, lock, &is_gone));
    return SYN_OK;
}

enum syn_status syn_lock_check(const char *directory, const char *but)
{
    char text[TEXT_BYTES];
    char path[sizeof((struct syn_lock *)0)->path];
    struct flock whole = {.l_type = F_WRLCK, .l_whence = SEEK_SET};
    snprintf(path, sizeof path, "%s/%s", directory, SYN_LOCK_FILE);
    int file = open(path, O_RDONLY | O_CLOEXEC);
    bool is_held = file >= 0 && fcntl(file, F_OFD_GETLK, &whole) == 0 && whole.l_type != F_UNLCK;
    if (is_held)
        read_holder(file, text);
    if (file >= 0)
        close(file);
    if (!is_held)
        return SYN_OK;
    return syn_report(SYN_INVALID, "the run in \"%.256s\" is still running (%s) and %s", directory,
                      text, but);
}

void syn_lock_release(struct syn_lock *lock)
{
    if (lock->file == 0)
        return;
    unlink(lock->path); /* while it is still locked */
    close(lock->file);
    lock->file = 0;
}

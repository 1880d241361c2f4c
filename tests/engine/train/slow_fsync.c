/* A disk that takes its time, for LD_PRELOAD: the first fsync() of the process takes four seconds
 * and says so. */
#include <stdatomic.h>
#include <stdio.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

__attribute__((visibility("default"))) int fsync(int fd)
{
    static atomic_flag is_done = ATOMIC_FLAG_INIT;
    struct timespec pause = {.tv_sec = 4};
    if (!atomic_flag_test_and_set(&is_done)) {
        fputs("slow fsync\n", stderr);
        nanosleep(&pause, NULL);
    }
    return (int)syscall(SYS_fsync, fd);
}

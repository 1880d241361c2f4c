/* A monotonic clock. */
#ifndef SYN_BASE_CLOCK_H
#define SYN_BASE_CLOCK_H

#include <stdint.h>
#include <time.h>

/* Nanoseconds since some fixed point in time. */
static inline int64_t syn_clock_ns(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (int64_t)now.tv_sec * 1000000000 + now.tv_nsec;
}

/* CPU time of a thread in nanoseconds, by its clock; 0 if it has none. */
static inline int64_t syn_clock_busy_ns(clockid_t thread)
{
    struct timespec busy;
    if (clock_gettime(thread, &busy) != 0)
        return 0;
    return (int64_t)busy.tv_sec * 1000000000 + busy.tv_nsec;
}

/* A time of this clock in the form that pthread_cond_timedwait takes, for a condition that uses the
 * monotonic clock. */
static inline struct timespec syn_clock_timespec(int64_t ns)
{
    struct timespec point = {.tv_sec = ns / 1000000000, .tv_nsec = ns % 1000000000};
    return point;
}

#endif

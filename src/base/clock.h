/* Time that only goes forward. */
#ifndef SYN_BASE_CLOCK_H
#define SYN_BASE_CLOCK_H

#include <stdint.h>
#include <time.h>

/* Nanoseconds since some fixed moment. */
static inline int64_t syn_clock_ns(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (int64_t)now.tv_sec * 1000000000 + now.tv_nsec;
}

/* Nanoseconds that a thread has had a processor, by its clock; 0 if it has none. */
static inline int64_t syn_clock_busy_ns(clockid_t thread)
{
    struct timespec busy;
    if (clock_gettime(thread, &busy) != 0)
        return 0;
    return (int64_t)busy.tv_sec * 1000000000 + busy.tv_nsec;
}

/* The same clock as a point in time for pthread_cond_timedwait on a monotonic condition. */
static inline struct timespec syn_clock_timespec(int64_t ns)
{
    struct timespec point = {.tv_sec = ns / 1000000000, .tv_nsec = ns % 1000000000};
    return point;
}

#endif

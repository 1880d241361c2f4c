/* Time that only goes forward. */
#ifndef SYN_ENGINE_BASE_CLOCK_H
#define SYN_ENGINE_BASE_CLOCK_H

#include <stdint.h>
#include <time.h>

/* Nanoseconds since some fixed moment. */
static inline int64_t syn_engine_clock_ns(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (int64_t)now.tv_sec * 1000000000 + now.tv_nsec;
}

#endif

/* A few threads that share a loop from time to time. */
#ifndef SYN_BASE_POOL_H
#define SYN_BASE_POOL_H

#include <stddef.h>

#include "base/status.h"

struct syn_pool;

/* Work for one lane. */
typedef void syn_lane(void *context, size_t lane);

/* Start lanes - 1 threads; the caller of syn_pool_run() is the first lane. lanes >= 1. */
enum syn_status syn_pool_open(size_t lanes, struct syn_pool **pool);

size_t syn_pool_lanes(const struct syn_pool *pool);

/* Run work(context, lane) for every lane at the same time and return when all are done. */
void syn_pool_run(struct syn_pool *pool, syn_lane *work, void *context);

void syn_pool_close(struct syn_pool *pool);

#endif

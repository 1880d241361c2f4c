/* Many workers in one process: a thread each, on the threads transport. */
#ifndef SYN_TEST_WORKERS_H
#define SYN_TEST_WORKERS_H

#include <stddef.h>

#include <syncopate/group.h>

#define WORKERS_MOST 17
#define MEMBERS_MOST (WORKERS_MOST + 4) /* with servers */

/* What worker `rank` does. Must not use cmocka's assertions, which may only fail on the main
 * thread; what it finds it leaves in context. */
typedef void worker_function(struct syn_group *group, size_t rank, void *context);

/* Run member on `workers` threads, at most MEMBERS_MOST, and return when all have ended.
 *   timeout_ms  of the group */
void run_workers(size_t workers, unsigned timeout_ms, worker_function *member, void *context);

#endif

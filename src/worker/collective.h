/* Small collective calls of a worker besides its gradients. They run on the communication thread,
 * like everything that sends. */
#ifndef SYN_WORKER_COLLECTIVE_H
#define SYN_WORKER_COLLECTIVE_H

#include "reducer/comm.h"

struct syn_worker;

/* An all-gather that is under way. */
struct syn_gathering {
    struct syn_work work; /* first, so that a pointer to it is one to its gathering */
    struct syn_group *group;
    void *all; /* [workers][count], this worker's part filled in */
    size_t count;
};

/* An all-gather of count bytes from each worker, not yet posted.
 *   all  [workers][count], lent until it is done */
struct syn_gathering syn_worker_gathering(const struct syn_worker *worker, const void *mine,
                                          size_t count, void *all);

/* Check that all workers have the same weights. */
enum syn_status syn_worker_compare(struct syn_worker *worker, const float *weights);

#endif

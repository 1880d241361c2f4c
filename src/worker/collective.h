/* What a worker has to settle with the others beside its gradients: small collective calls that run
 * on the communication thread, like everything that speaks. */
#ifndef SYN_WORKER_COLLECTIVE_H
#define SYN_WORKER_COLLECTIVE_H

#include "reducer/comm.h"

struct syn_worker;

/* An all-gather that is under way. */
struct syn_gathering {
    struct syn_work work; /* first, so that a work is its gathering */
    struct syn_group *group;
    void *all; /* [workers][count], the own part filled in */
    size_t count;
};

/* One of the same number of bytes of each worker, not yet posted.
 *   all  [workers][count], lent until it is done */
struct syn_gathering syn_worker_gathering(const struct syn_worker *worker, const void *mine,
                                          size_t count, void *all);

/* Find out whether all workers have these weights. */
enum syn_status syn_worker_compare(struct syn_worker *worker, const float *weights);

#endif

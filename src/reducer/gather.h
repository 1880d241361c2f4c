/* A few bytes of every worker for all, between steps. It runs on the communication thread, like
 * everything that sends, and in the same order. */
#ifndef SYN_REDUCER_GATHER_H
#define SYN_REDUCER_GATHER_H

#include "reducer/comm.h"

struct syn_reducer;

/* An all-gather that is under way. */
struct syn_gathering {
    struct syn_work work; /* first, so that a pointer to it is one to its gathering */
    struct syn_group *group;
    void *all; /* [workers][count], this worker's part filled in */
    size_t count;
};

/* An all-gather of count bytes from each worker, not yet posted.
 *   all  [workers][count], lent until it is done */
struct syn_gathering syn_reducer_gathering(const struct syn_reducer *reducer, const void *mine,
                                           size_t count, void *all);

#endif

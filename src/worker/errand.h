/* Errands: small things that a worker has to say to the others beside its gradients, done by the
 * communication thread, like everything that speaks. */
#ifndef SYN_WORKER_ERRAND_H
#define SYN_WORKER_ERRAND_H

#include "reducer/comm.h"

struct syn_group;
struct syn_worker;

enum syn_errand_kind {
    SYN_ERRAND_COMPARE, /* hash, what */
    SYN_ERRAND_GATHER,  /* all, count */
    SYN_ERRAND_ABANDON  /* status, what */
};

struct syn_errand {
    struct syn_work work; /* first, so that a work is its errand */
    enum syn_errand_kind kind;
    struct syn_group *group;
    uint64_t hash;
    const char *what;
    void *all; /* [workers][count], the own part filled in */
    size_t count;
    enum syn_status status; /* of a worker that cannot go on */
};

/* Send it off and wait until it is done. */
enum syn_status syn_worker_run_errand(struct syn_worker *worker, struct syn_errand *errand);

#endif

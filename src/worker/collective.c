/* Comparing, gathering, abandoning. */
#include "worker/collective.h"

#include "base/hash.h"
#include "exchange/exchange.h"
#include "worker/inside.h"

/* Post work and wait until it has run. */
static enum syn_status run(struct syn_worker *worker, struct syn_work *work)
{
    struct syn_comm *comm = syn_reducer_comm(worker->reducer);
    syn_comm_post(comm, work);
    return syn_comm_wait(comm, work);
}

struct comparison {
    struct syn_work work; /* first */
    struct syn_group *group;
    uint64_t hash;
};

static enum syn_status run_comparison(struct syn_work *work)
{
    const struct comparison *own = (const struct comparison *)work;
    return syn_exchange_compare(own->group, own->hash, "weights");
}

enum syn_status syn_worker_compare(struct syn_worker *worker, const float *weights)
{
    struct comparison own = {.work.run = run_comparison, .group = worker->group};
    own.hash = syn_hash(0, weights, worker->size * sizeof *weights);
    return run(worker, &own.work);
}

enum syn_status syn_worker_gather(struct syn_worker *worker, const void *mine, size_t count,
                                  void *all)
{
    return syn_reducer_gather(worker->reducer, mine, count, all);
}

enum syn_status syn_worker_gather_begin(struct syn_worker *worker, const void *mine, size_t count,
                                        void *all)
{
    if (worker->is_gathering)
        return syn_fail(SYN_INVALID, "the previous gathering has not been ended yet");
    worker->gathering = syn_reducer_gathering(worker->reducer, mine, count, all);
    worker->is_gathering = true;
    syn_comm_post(syn_reducer_comm(worker->reducer), &worker->gathering.work);
    return SYN_OK;
}

enum syn_status syn_worker_gather_end(struct syn_worker *worker)
{
    if (!worker->is_gathering)
        return syn_fail(SYN_INVALID, "no gathering is under way");
    worker->is_gathering = false;
    return syn_comm_wait(syn_reducer_comm(worker->reducer), &worker->gathering.work);
}

struct surrender {
    struct syn_work work; /* first */
    enum syn_status status;
    const char *cause;
};

/* A failure is announced to the others by work that fails. */
static enum syn_status run_surrender(struct syn_work *work)
{
    const struct surrender *own = (const struct surrender *)work;
    return syn_fail_again(own->status, own->cause);
}

void syn_worker_abandon(struct syn_worker *worker, enum syn_status status, const char *cause)
{
    struct surrender own = {.work.run = run_surrender, .status = status, .cause = cause};
    run(worker, &own.work);
}

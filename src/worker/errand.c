/* Running errands. */
#include "worker/errand.h"

#include <string.h>

#include "exchange/exchange.h"
#include "worker/inside.h"

static enum syn_status run(struct syn_work *work)
{
    struct syn_errand *own = (struct syn_errand *)work;
    switch (own->kind) {
    case SYN_ERRAND_COMPARE:
        return syn_exchange_compare(own->group, own->hash, own->what);
    case SYN_ERRAND_GATHER:
        return syn_exchange_gather(own->group, own->count, own->all);
    default:
        return syn_fail_again(own->status, own->what);
    }
}

static void send_off(struct syn_worker *worker, struct syn_errand *errand)
{
    errand->work.run = run;
    errand->group = worker->group;
    syn_comm_post(worker->store_type->comm(worker->store), &errand->work);
}

static enum syn_status await(struct syn_worker *worker, struct syn_errand *errand)
{
    return syn_comm_wait(worker->store_type->comm(worker->store), &errand->work);
}

enum syn_status syn_worker_run_errand(struct syn_worker *worker, struct syn_errand *errand)
{
    send_off(worker, errand);
    return await(worker, errand);
}

static struct syn_errand gathering(const struct syn_worker *worker, const void *mine, size_t count,
                                   void *all)
{
    memcpy((char *)all + syn_group_rank(worker->group) * count, mine, count);
    return (struct syn_errand){.kind = SYN_ERRAND_GATHER, .all = all, .count = count};
}

enum syn_status syn_worker_gather(struct syn_worker *worker, const void *mine, size_t count,
                                  void *all)
{
    struct syn_errand errand = gathering(worker, mine, count, all);
    return syn_worker_run_errand(worker, &errand);
}

enum syn_status syn_worker_tell(struct syn_worker *worker, const void *mine, size_t count,
                                void *all)
{
    if (worker->is_telling)
        return syn_fail(SYN_INVALID, "what was told before has not been heard yet");
    worker->told = gathering(worker, mine, count, all);
    worker->is_telling = true;
    send_off(worker, &worker->told);
    return SYN_OK;
}

enum syn_status syn_worker_hear(struct syn_worker *worker)
{
    if (!worker->is_telling)
        return syn_fail(SYN_INVALID, "nothing was told that could be heard");
    worker->is_telling = false;
    return await(worker, &worker->told);
}

void syn_worker_abandon(struct syn_worker *worker, enum syn_status status, const char *cause)
{
    struct syn_errand errand = {.kind = SYN_ERRAND_ABANDON, .status = status, .what = cause};
    syn_worker_run_errand(worker, &errand);
}

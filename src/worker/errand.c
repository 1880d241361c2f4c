/* Running errands. */
#include "worker/errand.h"

#include <string.h>

#include "exchange/exchange.h"

static void run(struct syn_job *job)
{
    struct syn_errand *own = (struct syn_errand *)job;
    if (own->kind == SYN_ERRAND_ABANDON) {
        syn_group_abandon(own->group, own->status, own->what);
        own->status = SYN_OK;
        return;
    }
    own->status = own->kind == SYN_ERRAND_COMPARE
                      ? syn_exchange_compare(own->group, own->hash, own->what)
                      : syn_exchange_gather(own->group, own->count, own->all);
    if (own->status != SYN_OK) {
        syn_group_abandon(own->group, own->status, syn_error_text());
        memcpy(own->cause, syn_error_text(), strlen(syn_error_text()) + 1);
    }
}

enum syn_status syn_worker_run_errand(struct syn_worker *worker, struct syn_errand *errand)
{
    struct syn_courier *courier = worker->store_type->courier(worker->store);
    errand->job.run = run;
    errand->group = worker->group;
    syn_courier_post(courier, &errand->job);
    syn_courier_wait(courier, &errand->job);
    return errand->status == SYN_OK ? SYN_OK : syn_fail_again(errand->status, errand->cause);
}

enum syn_status syn_worker_gather(struct syn_worker *worker, const void *mine, size_t count,
                                  void *all)
{
    struct syn_errand errand = {.kind = SYN_ERRAND_GATHER, .all = all, .count = count};
    memcpy((char *)all + syn_group_rank(worker->group) * count, mine, count);
    return syn_worker_run_errand(worker, &errand);
}

void syn_worker_abandon(struct syn_worker *worker, enum syn_status status, const char *cause)
{
    struct syn_errand errand = {.kind = SYN_ERRAND_ABANDON, .status = status, .what = cause};
    syn_worker_run_errand(worker, &errand);
}

/* A few bytes between steps, on the same thread and in the same order as what steps send. */
#include <string.h>

#include "exchange/exchange.h"
#include "reducer/inside.h"

struct gathering {
    struct syn_work work; /* first, so that a pointer to it is one to its gathering */
    struct syn_group *group;
    void *all;
    size_t count;
};

static enum syn_status run(struct syn_work *work)
{
    const struct gathering *own = (const struct gathering *)work;
    return syn_exchange_gather(own->group, own->count, own->all);
}

enum syn_status syn_reducer_gather(struct syn_reducer *reducer, const void *mine, size_t count,
                                   void *all)
{
    struct gathering own = {.work.run = run, .group = reducer->group, .all = all, .count = count};
    memcpy((char *)all + syn_group_rank(reducer->group) * count, mine, count);
    syn_comm_post(reducer->comm, &own.work);
    return syn_comm_wait(reducer->comm, &own.work);
}

/* An all-gather as work for the communication thread. */
#include "reducer/gather.h"

#include <string.h>

#include "exchange/exchange.h"
#include "reducer/inside.h"

static enum syn_status run(struct syn_work *work)
{
    const struct syn_gathering *own = (const struct syn_gathering *)work;
    return syn_exchange_gather(own->group, own->count, own->all);
}

struct syn_gathering syn_reducer_gathering(const struct syn_reducer *reducer, const void *mine,
                                           size_t count, void *all)
{
    memcpy((char *)all + syn_group_rank(reducer->group) * count, mine, count);
    return (struct syn_gathering){
        .work.run = run, .group = reducer->group, .all = all, .count = count};
}

enum syn_status syn_reducer_gather(struct syn_reducer *reducer, const void *mine, size_t count,
                                   void *all)
{
    struct syn_gathering own = syn_reducer_gathering(reducer, mine, count, all);
    syn_comm_post(reducer->comm, &own.work);
    return syn_comm_wait(reducer->comm, &own.work);
}

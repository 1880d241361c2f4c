/* Small messages that workers occasionally send each other: every worker's bytes go once around the
 * ring. They are rare and small, so the simplest way is good enough. */
#include "exchange/exchange.h"

enum syn_status syn_exchange_gather(struct syn_group *group, size_t count, void *all)
{
    uint8_t *bytes = all;
    size_t workers = group->workers;
    size_t right = (group->rank + 1) % workers;
    size_t left = (group->rank + workers - 1) % workers;
    for (size_t i = 1; i < workers; i++) {
        size_t go = (group->rank + workers + 1 - i) % workers;
        size_t come = (group->rank + workers - i) % workers;
        size_t came;
        SYN_TRY(syn_exchange_swap(group, right, bytes + go * count, count, left,
                                  bytes + come * count, count, &came));
        if (came != count)
            return syn_fail(SYN_FORMAT, "worker %zu sent %zu bytes; expected %zu", left, came,
                            count);
    }
    return SYN_OK;
}

enum syn_status syn_exchange_compare(struct syn_group *group, uint64_t hash, const char *what)
{
    size_t right = (group->rank + 1) % group->workers;
    size_t left = (group->rank + group->workers - 1) % group->workers;
    uint64_t going = hash;
    for (size_t i = 1; i < group->workers; i++) {
        size_t origin = (group->rank + group->workers - i) % group->workers;
        uint64_t coming = 0;
        size_t came;
        SYN_TRY(syn_exchange_swap(group, right, &going, sizeof going, left, &coming, sizeof coming,
                                  &came));
        if (came != sizeof coming || coming != hash)
            return syn_fail(SYN_MISMATCH, "worker %zu and worker %zu have different %s",
                            group->rank, origin, what);
        going = coming;
    }
    return SYN_OK;
}

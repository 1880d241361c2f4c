/* Comparing replicas: everyone's hash goes once around the ring. Rare and small, so that the
 * simplest way will do. */
#include "exchange/exchange.h"

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

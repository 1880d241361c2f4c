/* Everyone's list to everyone: the exchange of topk and strom. All packets of a step are sent at
 * once, each worker beginning with its right neighbour so that no receiver is flooded; one latency
 * instead of the P - 1 of a ring, for the same bytes.
 *
 * The lists are added in the order of the ranks, into a dense array that is zero between calls,
 * with a map of the entries touched: work in proportion to the entries, not to P times them as with
 * repeated merges. */
#include "exchange/exchange.h"

#include <stdlib.h>

#include "base/memory.h"

struct allgather {
    struct syn_group *group;
    size_t packet_room;
    uint8_t *packets;             /* [workers][packet_room], received */
    struct syn_request *requests; /* [2 * workers]: receives, then sends */
    struct syn_list list;         /* one packet's */
    float *sum;                   /* [size] zeros */
    uint64_t *touched;            /* [size / 64] a bit an entry */
};

static double theory(const struct syn_exchange_setup *setup, size_t packet_bytes)
{
    return (double)((setup->group->workers - 1) * packet_bytes);
}

static size_t merged_most(const struct syn_exchange_setup *setup)
{
    size_t workers = setup->group->workers;
    return setup->limit < setup->size / workers ? setup->limit * workers : setup->size;
}

static size_t dropped_most(const struct syn_exchange_setup *setup)
{
    (void)setup;
    return 0;
}

static void close_state(void *state)
{
    struct allgather *all = state;
    if (!all)
        return;
    free(all->packets);
    free(all->requests);
    free(all->sum);
    free(all->touched);
    syn_list_close(&all->list);
    free(all);
}

static enum syn_status allocate(struct allgather *all, const struct syn_exchange_setup *setup)
{
    size_t workers = setup->group->workers;
    size_t bound = syn_packet_bound(setup->values, setup->indices, setup->limit, setup->size);
    all->group = setup->group;
    all->packet_room = (bound + SYN_ALIGNMENT - 1) / SYN_ALIGNMENT * SYN_ALIGNMENT;
    SYN_TRY(syn_reserve(workers, all->packet_room, &all->packets));
    SYN_TRY(syn_allocate(2 * workers, sizeof *all->requests, &all->requests));
    SYN_TRY(syn_allocate(setup->size, sizeof *all->sum, &all->sum));
    SYN_TRY(syn_allocate(setup->size / 64 + 1, sizeof *all->touched, &all->touched));
    return syn_list_open(&all->list, setup->limit);
}

static enum syn_status open_state(const struct syn_exchange_setup *setup, void **state)
{
    struct allgather *all;
    SYN_TRY(syn_allocate(1, sizeof *all, &all));
    enum syn_status status = allocate(all, setup);
    if (status != SYN_OK) {
        close_state(all);
        return status;
    }
    *state = all;
    return SYN_OK;
}

static void vacate(void *state)
{
    struct allgather *all = state;
    syn_vacate(all->packets, all->group->workers, all->packet_room);
    syn_list_vacate(&all->list);
}

static enum syn_status swap_all(struct allgather *all, const struct syn_contribution *in)
{
    struct syn_group *group = all->group;
    size_t workers = group->workers;
    enum syn_status status = SYN_OK;
    memset(all->requests, 0, 2 * workers * sizeof *all->requests);
    for (size_t i = 1; i < workers && status == SYN_OK; i++) {
        size_t peer = (group->rank + workers - i) % workers;
        status = syn_group_receive(group, peer, all->packets + peer * all->packet_room,
                                   all->packet_room, &all->requests[peer]);
    }
    for (size_t i = 1; i < workers && status == SYN_OK; i++) {
        size_t peer = (group->rank + i) % workers;
        status = syn_group_send(group, peer, in->packet, in->packet_bytes,
                                &all->requests[workers + peer]);
    }
    if (status != SYN_OK)
        syn_group_abandon(group, status, syn_error_text());
    return syn_group_wait(group, all->requests, 2 * workers);
}

static void accumulate(struct allgather *all, const struct syn_list *list)
{
    for (size_t i = 0; i < list->count; i++) {
        uint32_t at = list->index[i];
        all->sum[at] += list->value[i];
        all->touched[at / 64] |= (uint64_t)1 << (at % 64);
    }
}

/* The touched entries as a sorted list, leaving zeros behind. */
static void collect(struct allgather *all, size_t size, struct syn_list *merged)
{
    merged->count = 0;
    for (size_t word = 0; word <= size / 64; word++) {
        for (uint64_t bits = all->touched[word]; bits; bits &= bits - 1) {
            uint32_t at = (uint32_t)(64 * word) + (uint32_t)__builtin_ctzll(bits);
            if (all->sum[at] != 0) {
                merged->index[merged->count] = at;
                merged->value[merged->count++] = all->sum[at];
            }
            all->sum[at] = 0;
        }
        all->touched[word] = 0;
    }
}

static enum syn_status add_packet(struct allgather *all, const struct syn_contribution *in,
                                  size_t peer, struct syn_outcome *out)
{
    bool is_own = peer == all->group->rank;
    const uint8_t *packet = is_own ? in->packet : all->packets + peer * all->packet_room;
    size_t bytes = is_own ? in->packet_bytes : all->requests[peer].count;
    struct syn_packet_content content;
    SYN_TRY(syn_packet_decode(&in->about, packet, bytes, peer, &all->list, &content));
    if (content.is_poison)
        syn_outcome_poison(out, content.poison_entry);
    accumulate(all, &all->list);
    return SYN_OK;
}

static enum syn_status run(void *state, const struct syn_contribution *in, struct syn_outcome *out)
{
    struct allgather *all = state;
    out->is_poisoned = false;
    out->dropped.count = 0;
    SYN_TRY(swap_all(all, in));
    enum syn_status status = SYN_OK;
    for (size_t peer = 0; peer < all->group->workers && status == SYN_OK; peer++)
        status = add_packet(all, in, peer, out);
    collect(all, in->about.size, &out->merged);
    size_t bad = syn_first_not_finite(out->merged.value, out->merged.count);
    if (bad < out->merged.count)
        syn_outcome_poison(out, out->merged.index[bad]);
    return status;
}

const struct syn_exchange_type syn_exchange_allgather = {
    .part = {"allgather", "every worker's list to every worker, then added in rank order"},
    .theory = theory,
    .merged_most = merged_most,
    .dropped_most = dropped_most,
    .open = open_state,
    .run = run,
    .vacate = vacate,
    .close = close_state,
};

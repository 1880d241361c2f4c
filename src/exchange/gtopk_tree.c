/* gTop-k as it was published: lists are merged up a binomial tree to worker 0, and the result goes
 * down the same tree. Twice the rounds of doubling; each merge is done once, by the worker that
 * takes back what it drops. Any P. */
#include "exchange/merge.h"

static size_t merged_most(const struct syn_exchange_setup *setup)
{
    return setup->limit;
}

static enum syn_status open_state(const struct syn_exchange_setup *setup, void **state)
{
    struct syn_merge *merge;
    SYN_TRY(syn_merge_open(setup, &merge));
    *state = merge;
    return SYN_OK;
}

static void close_state(void *state)
{
    syn_merge_close(state);
}

/* The bit at which this worker hands its list up: its lowest set bit; for worker 0 the first power
 * of two that is not below P. */
static size_t height(size_t rank, size_t workers)
{
    size_t bit = 1;
    while (bit < workers && !(rank & bit))
        bit *= 2;
    return bit;
}

static enum syn_status run(void *state, const struct syn_contribution *in, struct syn_outcome *out)
{
    struct syn_merge *merge = state;
    size_t rank = merge->setup.group->rank;
    size_t workers = merge->setup.group->workers;
    size_t top = height(rank, workers);
    syn_merge_begin(merge, in, out);
    for (size_t bit = 1; bit < top; bit *= 2) {
        if (rank + bit < workers) {
            SYN_TRY(syn_merge_absorb(merge, rank + bit, true));
            syn_merge_encode(merge, true);
        }
    }
    if (rank != 0) {
        SYN_TRY(syn_merge_send(merge, rank - top));
        SYN_TRY(syn_merge_adopt(merge, rank - top));
        syn_merge_encode(merge, false); /* the same bytes again, to pass on */
    }
    for (size_t bit = top / 2; bit > 0; bit /= 2)
        if (rank + bit < workers)
            SYN_TRY(syn_merge_send(merge, rank + bit));
    syn_merge_finish(merge);
    return SYN_OK;
}

const struct syn_exchange_type syn_exchange_gtopk_tree = {
    .part = {"gtopk-tree", "lists merged up a tree to worker 0, the result sent down again"},
    .merges_on_the_way = true,
    .theory = syn_merge_theory,
    .merged_most = merged_most,
    .dropped_most = syn_merge_dropped_most,
    .open = open_state,
    .run = run,
    .vacate = syn_merge_vacate,
    .close = close_state,
};

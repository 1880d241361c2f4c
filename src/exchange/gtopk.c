/* gTop-k by recursive doubling: in round j every worker swaps lists with the one whose rank differs
 * in bit j, and both merge, so that after log2 P rounds all have the same list and no broadcast is
 * needed.
 *
 * For P that is no power of two, the workers from the largest power of two on first fold into a
 * partner and get the result from it in the end. */
#include "exchange/merge.h"

static size_t largest_power_of_two(size_t workers)
{
    size_t power = 1;
    while (power * 2 <= workers)
        power *= 2;
    return power;
}

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

/* The rounds among the first `inner` workers. */
static enum syn_status double_up(struct syn_merge *merge, size_t inner)
{
    size_t rank = merge->setup.group->rank;
    for (size_t bit = 1; bit < inner; bit *= 2) {
        bool is_lowest = rank % (2 * bit) == 0;
        SYN_TRY(syn_merge_swap(merge, rank ^ bit, is_lowest));
        if (2 * bit < inner)
            syn_merge_encode(merge, is_lowest);
    }
    return SYN_OK;
}

static enum syn_status run(void *state, const struct syn_contribution *in, struct syn_outcome *out)
{
    struct syn_merge *merge = state;
    size_t rank = merge->setup.group->rank;
    size_t workers = merge->setup.group->workers;
    size_t inner = largest_power_of_two(workers);
    syn_merge_begin(merge, in, out);
    if (rank >= inner) {
        SYN_TRY(syn_merge_send(merge, rank - inner));
        SYN_TRY(syn_merge_adopt(merge, rank - inner));
    } else {
        if (rank + inner < workers) {
            SYN_TRY(syn_merge_fold(merge, rank + inner));
            syn_merge_encode(merge, true);
        }
        SYN_TRY(double_up(merge, inner));
        if (inner < workers) /* all round as those do who pass the result on */
            syn_merge_encode(merge, rank == 0);
        if (rank + inner < workers)
            SYN_TRY(syn_merge_send(merge, rank + inner));
    }
    syn_merge_finish(merge);
    return SYN_OK;
}

const struct syn_exchange_type syn_exchange_gtopk = {
    .part = {"gtopk", "lists merged pairwise by recursive doubling, the k largest kept each time"},
    .merges_on_the_way = true,
    .sees_own_merges = true,
    .theory = syn_merge_theory,
    .merged_most = merged_most,
    .dropped_most = syn_merge_dropped_most,
    .open = open_state,
    .run = run,
    .vacate = syn_merge_vacate,
    .close = close_state,
};

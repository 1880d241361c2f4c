/* gTop-k by recursive doubling: in round j every worker swaps lists with the one whose rank differs
 * in bit j, and both merge, so that after log2 P rounds all have the same list and no broadcast is
 * needed.
 *
 * If P is not a power of two, the workers from the largest power of two on first send their lists
 * to a partner, and receive the result from it at the end. */
#include "exchange/merge.h"

static enum syn_status open_state(const struct syn_exchange_setup *setup, void **state)
{
    return syn_merge_open(setup, syn_doubling_rounds, state);
}

const struct syn_exchange_type syn_exchange_gtopk = {
    .part = {"gtopk", "lists merged pairwise by recursive doubling, the k largest kept each time"},
    .merges_on_the_way = true,
    .sees_own_merges = true,
    .rounds = syn_doubling_rounds,
    .theory = syn_merge_theory,
    .merged_most = syn_merge_merged_most,
    .dropped_most = syn_merge_dropped_most,
    .open = open_state,
    .run = syn_merge_run,
    .vacate = syn_merge_vacate,
    .close = syn_merge_close,
};

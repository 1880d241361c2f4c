/* gTop-k as published: lists are merged up a binomial tree to worker 0, and the result goes down
 * the same tree. Twice the rounds of recursive doubling; each merge is done once, by the worker
 * that takes back what it drops. Works for any P. */
#include "exchange/merge.h"

static enum syn_status open_state(const struct syn_exchange_setup *setup, void **state)
{
    return syn_merge_open(setup, syn_tree_rounds, state);
}

const struct syn_exchange_type syn_exchange_gtopk_tree = {
    .part = {"gtopk-tree", "lists merged up a tree to worker 0, the result sent back down"},
    .merges_on_the_way = true,
    .rounds = syn_tree_rounds,
    .theory = syn_merge_theory,
    .merged_most = syn_merge_merged_most,
    .dropped_most = syn_merge_dropped_most,
    .open = open_state,
    .run = syn_merge_run,
    .vacate = syn_merge_vacate,
    .close = syn_merge_close,
};

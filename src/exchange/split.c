/* A sparse all-reduce in two messages: every worker sends each owner its portion of the list; the
 * owner adds the portions in the order of the ranks, keeps the largest sums and sends them to all.
 * Each worker sends 2(P-1)/P lists instead of the log2 P of pairwise merging or the P-1 of an
 * all-gather, with two latencies whatever P is. Any P works.
 *
 * Nothing is lost. There are no intermediate merges, so an entry whose sum was kept was counted in
 * full for every worker that sent it, and one whose sum was not kept goes back to exactly those
 * that sent it. What rounding removes from a portion goes back to its worker, what it removes from
 * a sum to the owner.
 *
 * A contribution that is not finite is reported to the owner of its first such entry, which reports
 * it to all. */
#include "exchange/split.h"

#include <stdlib.h>

#include "base/memory.h"

static size_t smaller(size_t a, size_t b)
{
    return a < b ? a : b;
}

static size_t owned_size(const struct syn_exchange_setup *setup, size_t size)
{
    return syn_owned_size(size, setup->group->workers);
}

static size_t portion_most(const struct syn_exchange_setup *setup)
{
    return smaller(setup->limit, owned_size(setup, setup->size));
}

static size_t kept_most(const struct syn_exchange_setup *setup)
{
    size_t most = 0;
    for (size_t owner = 0; owner < setup->group->workers; owner++) {
        size_t own = syn_split_share(setup, setup->limit, owner);
        most = own > most ? own : most;
    }
    size_t kept = smaller(most, owned_size(setup, setup->size));
    size_t whole = owned_size(setup, setup->whole);
    return kept > whole ? kept : whole;
}

/* One packet to every other worker in each of the two messages. */
static double theory(const struct syn_exchange_setup *setup, size_t packet_bytes)
{
    double workers = (double)setup->group->workers;
    double keep = setup->keep > 0 && setup->keep < workers ? setup->keep : workers;
    double entries = packet_bytes > SYN_PACKET_HEAD ? (double)packet_bytes - SYN_PACKET_HEAD : 0;
    return (workers - 1) * ((1 + keep) / workers * entries + 2 * SYN_PACKET_HEAD);
}

static size_t merged_most(const struct syn_exchange_setup *setup)
{
    return smaller(setup->size, setup->group->workers * kept_most(setup));
}

/* For every entry of the own list what rounding removed, and the rest if its sum was not kept; and
 * what rounding removed from each sum. */
static size_t dropped_most(const struct syn_exchange_setup *setup)
{
    return 2 * setup->limit + kept_most(setup);
}

static void close_state(void *state)
{
    struct syn_split *split = state;
    if (!split)
        return;
    for (size_t i = 0; i < split->setup.group->workers; i++) {
        if (split->portions)
            syn_list_close(&split->portions[i]);
        if (split->kept)
            syn_list_close(&split->kept[i]);
    }
    free(split->portions);
    free(split->kept);
    syn_list_close(&split->came);
    syn_list_close(&split->sum);
    syn_list_close(&split->before);
    free(split->going);
    free(split->coming);
    free(split->kept_packet);
    free(split->collected);
    syn_post_close(&split->post);
    syn_scatter_close(&split->sums);
    free(split->next);
    free(split);
}

static void vacate(void *state)
{
    struct syn_split *split = state;
    size_t workers = split->setup.group->workers;
    for (size_t i = 0; i < workers; i++) {
        syn_list_vacate(&split->portions[i]);
        syn_list_vacate(&split->kept[i]);
    }
    syn_list_vacate(&split->came);
    syn_list_vacate(&split->sum);
    syn_list_vacate(&split->before);
    syn_vacate(split->going, workers, split->portion_room);
    syn_vacate(split->coming, workers, split->portion_room);
    syn_vacate(split->collected, workers, split->kept_room);
    syn_vacate(split->kept_packet, 1, split->kept_room);
}

static enum syn_status allocate_lists(struct syn_split *split, size_t portions, size_t kept)
{
    size_t workers = split->setup.group->workers;
    size_t owned = owned_size(&split->setup, split->setup.size);
    size_t sums = smaller(owned, workers * portions);
    SYN_TRY(syn_allocate(workers, sizeof *split->portions, &split->portions));
    SYN_TRY(syn_allocate(workers, sizeof *split->kept, &split->kept));
    SYN_TRY(syn_allocate(workers, sizeof *split->next, &split->next));
    for (size_t i = 0; i < workers; i++) {
        SYN_TRY(syn_list_open(&split->portions[i], portions));
        SYN_TRY(syn_list_open(&split->kept[i], kept));
    }
    SYN_TRY(syn_list_open(&split->came, portions));
    SYN_TRY(syn_list_open(&split->sum, sums));
    SYN_TRY(syn_list_open(&split->before, sums > portions ? sums : portions));
    return syn_scatter_open(&split->sums, owned);
}

static size_t aligned(size_t bytes)
{
    return (bytes + SYN_ALIGNMENT - 1) / SYN_ALIGNMENT * SYN_ALIGNMENT;
}

static enum syn_status allocate(struct syn_split *split)
{
    const struct syn_exchange_setup *setup = &split->setup;
    size_t workers = setup->group->workers;
    size_t owned = owned_size(setup, setup->size);
    size_t portions = portion_most(setup);
    size_t kept = kept_most(setup);
    split->portion_room = aligned(syn_packet_bound(setup->values, setup->indices, portions, owned));
    split->kept_room = aligned(syn_packet_bound(split->sum_values, setup->indices, kept, owned));
    SYN_TRY(syn_reserve(workers, split->portion_room, &split->going));
    SYN_TRY(syn_reserve(workers, split->portion_room, &split->coming));
    SYN_TRY(syn_reserve(workers, split->kept_room, &split->collected));
    SYN_TRY(syn_reserve(1, split->kept_room, &split->kept_packet));
    SYN_TRY(syn_post_open(setup->group, &split->post));
    return allocate_lists(split, portions, kept);
}

static enum syn_status open_state(const struct syn_exchange_setup *setup, void **state)
{
    struct syn_split *split;
    SYN_TRY(syn_allocate(1, sizeof *split, &split));
    split->setup = *setup;
    /* Signs add up to small multiples of thresholds that differ between workers. */
    split->sum_values = setup->values->needs_scale ? syn_value_find("q8") : setup->values;
    enum syn_status status = allocate(split);
    if (status != SYN_OK) {
        close_state(split);
        return status;
    }
    *state = split;
    return SYN_OK;
}

static enum syn_status run(void *state, const struct syn_contribution *in, struct syn_outcome *out)
{
    struct syn_split *split = state;
    out->is_nonfinite = false;
    out->dropped.count = 0;
    out->merged.count = 0;
    SYN_TRY(syn_split_reduce(split, in, out));
    return syn_split_collect(split, in, out);
}

const struct syn_exchange_type syn_exchange_split = {
    .part = {"split",
             "each owner adds up its portion of all lists and sends the largest sums to all"},
    .merges_on_the_way = true,
    .sees_own_merges = true,
    .encodes_portions = true,
    .rounds = syn_owners_rounds,
    .theory = theory,
    .merged_most = merged_most,
    .dropped_most = dropped_most,
    .open = open_state,
    .run = run,
    .vacate = vacate,
    .close = close_state,
};

/* Sends as much as each step may send: at density 1 everything, on the ring, in the value form of
 * this step; below 1 the largest entries, by split, or, if they are few, from each worker to each.
 *
 * Fewer bits are preferred to fewer entries, because an entry in four bits arrives now, while one
 * that is left out arrives only when it has grown. All ways share a residual: they take the whole
 * array and return what they did not deliver, so that a step need not know which way the
 * previous one took.
 *
 * Selection is done here, on the communication thread, and not in the pass that adds the residual:
 * this costs one more pass over memory, but none of it on the training thread. */
#include <stdlib.h>

#include "base/memory.h"
#include "exchange/ring.h"
#include "exchange/short_lists.h"
#include "select/lanes.h"

extern const struct syn_exchange_type syn_exchange_allgather;
extern const struct syn_exchange_type syn_exchange_split;

/* A magnitude a little below the smallest that was picked last, where the next search begins. */
struct guess {
    uint32_t cutoff;
    size_t size; /* of what was searched */
    size_t limit;
};

#define GUESS_SHARE 0.9F

struct adaptive {
    struct syn_exchange_setup setup;
    struct syn_ring *ring;
    void *split; /* NULL if there is no room for lists */
    struct syn_short_lists *short_lists;
    struct syn_lane picked;
    struct guess guess;
    struct syn_list dropped; /* of lists */
};

static double theory(const struct syn_exchange_setup *setup, size_t packet_bytes)
{
    (void)packet_bytes;
    double workers = (double)setup->group->workers;
    return 2 * (workers - 1) / workers * (double)setup->values->measure(setup->size);
}

static void close_state(void *state)
{
    struct adaptive *own = state;
    if (!own)
        return;
    syn_ring_close(own->ring);
    if (own->split)
        syn_exchange_split.close(own->split);
    syn_short_lists_close(own->short_lists);
    syn_lanes_close(&own->picked, 1);
    syn_list_close(&own->dropped);
    free(own);
}

static enum syn_status open_lists(struct adaptive *own)
{
    const struct syn_exchange_setup *setup = &own->setup;
    SYN_TRY(syn_exchange_split.open(setup, &own->split));
    SYN_TRY(syn_short_lists_open(setup, &own->short_lists));
    SYN_TRY(syn_lanes_open(&own->picked, 1, 2 * setup->limit, false));
    return syn_list_open(&own->dropped, syn_exchange_split.dropped_most(setup));
}

static enum syn_status open_state(const struct syn_exchange_setup *setup, void **state)
{
    struct adaptive *own;
    SYN_TRY(syn_allocate(1, sizeof *own, &own));
    own->setup = *setup;
    enum syn_status status = syn_ring_open(setup->group, setup->size, NULL, &own->ring);
    if (status == SYN_OK && setup->limit > 0)
        status = open_lists(own);
    if (status != SYN_OK) {
        close_state(own);
        return status;
    }
    *state = own;
    return SYN_OK;
}

static enum syn_status run_dense(struct adaptive *own, const struct syn_contribution *in,
                                 struct syn_outcome *out)
{
    const struct syn_value_type *values = in->values ? in->values : own->setup.values;
    syn_ring_use(own->ring, values);
    SYN_TRY(syn_ring_run(own->ring, in, out));
    if (values->is_exact && out->dense_dropped)
        memset(out->dense_dropped, 0, in->about.size * sizeof(float));
    return SYN_OK;
}

/* Pick the largest entries; among equal ones, those of lower index. Most of a search without a
 * guess is spent on entries that larger ones replace later. Returns the largest magnitude. */
static uint32_t pick(struct adaptive *own, const float *dense, size_t size, size_t limit)
{
    struct syn_lane *picked = &own->picked;
    struct guess *guess = &own->guess;
    struct syn_sums sums = {.kept = dense};
    bool is_alike = guess->size == size && guess->limit >= limit; /* not another bucket */
    uint32_t cutoff = is_alike ? guess->cutoff : 0;
    uint32_t largest = syn_lane_search(picked, &sums, size, limit, cutoff);
    if (picked->found < limit && cutoff > 0)
        largest = syn_lane_search(picked, &sums, size, limit, 0);
    syn_list_keep_largest(&picked->list, limit, NULL);
    float least = syn_from_magnitude(syn_list_smallest(&picked->list));
    *guess = (struct guess){syn_magnitude(GUESS_SHARE * least), size, limit};
    return largest;
}

/* Return what was not picked, and those picks that came back. */
static void give_back(const struct adaptive *own, const struct syn_contribution *in, float *dropped)
{
    const struct syn_list *back = &own->dropped;
    if (dropped != in->dense)
        memcpy(dropped, in->dense, in->about.size * sizeof *dropped);
    for (size_t i = 0; i < own->picked.list.count; i++)
        dropped[own->picked.list.index[i]] = 0;
    for (size_t i = 0; i < back->count; i++)
        dropped[back->index[i]] += back->value[i];
}

static enum syn_status run_sparse(struct adaptive *own, const struct syn_contribution *in,
                                  struct syn_outcome *out)
{
    size_t size = in->about.size;
    struct syn_contribution list = *in;
    list.about.limit = (uint32_t)(in->is_whole ? size : syn_select_share(in->density, size));
    if (!own->split || list.about.limit > own->setup.limit)
        return syn_fail(SYN_INVALID, "density %g is above the maximum that room was allocated for",
                        in->density);
    list.is_nonfinite = pick(own, in->dense, size, list.about.limit) >= SYN_INFINITY_BITS;
    if (list.is_nonfinite) {
        own->picked.list.count = 0;
        list.nonfinite_entry = (uint32_t)syn_first_not_finite(in->dense, size);
    }
    list.list = own->picked.list;
    struct syn_outcome lists = {.merged = out->merged, .dropped = own->dropped};
    if (syn_lists_are_short(list.about.limit, own->setup.group->workers))
        SYN_TRY(syn_short_lists_run(own->short_lists, &list, &lists));
    else
        SYN_TRY(syn_exchange_split.run(own->split, &list, &lists));
    out->is_nonfinite = lists.is_nonfinite;
    out->nonfinite_entry = lists.nonfinite_entry;
    out->merged = lists.merged;
    own->dropped = lists.dropped;
    out->is_list = true;
    if (!out->is_nonfinite)
        give_back(own, in, out->dense_dropped);
    return SYN_OK;
}

/* All buckets of a step have the same density, so all of them return lists, or none. */
static enum syn_status run(void *state, const struct syn_contribution *in, struct syn_outcome *out)
{
    bool is_sparse = in->density > 0 && in->density < 1;
    if (is_sparse && in->about.size > 0)
        return run_sparse(state, in, out);
    SYN_TRY(run_dense(state, in, out));
    out->is_list = is_sparse;
    return SYN_OK;
}

static size_t merged_most(const struct syn_exchange_setup *setup)
{
    if (setup->limit == 0)
        return 0;
    size_t most = syn_exchange_split.merged_most(setup);
    size_t most_of_short = syn_short_lists_merged_most(setup);
    return most > most_of_short ? most : most_of_short;
}

static const struct syn_exchange_type *lists_by(size_t entries, size_t workers)
{
    return syn_lists_are_short(entries, workers) ? &syn_exchange_allgather : &syn_exchange_split;
}

const struct syn_exchange_type syn_exchange_adaptive = {
    .part = {"adaptive",
             "by each step's density: everything on the ring, or the largest entries by split, few "
             "of them by allgather"},
    .is_dense = true,
    .follows_density = true,
    .rounds = syn_ring_rounds, /* of its dense way, as is theory() */
    .lists_by = lists_by,
    .theory = theory,
    .merged_most = merged_most,
    .open = open_state,
    .run = run,
    .close = close_state,
};

/* Sends as much as each step may send: at density 1 everything, on the ring, in the value form of
 * this step; below 1 the largest entries, by split, or, if they are few, from each worker to each.
 *
 * Fewer bits are preferred to fewer entries, because an entry in four bits arrives now, while one
 * that is left out arrives only when it has grown. All ways share a residual, so that a step need
 * not know which way the previous one took.
 *
 * Lists are picked in the pass that adds the residual, as everywhere. Picking them here, on the
 * communication thread, was tried: that is one more pass over memory, for which workers that share
 * a core pay. */
#include <stdlib.h>

#include "base/memory.h"
#include "exchange/ring.h"
#include "exchange/short_lists.h"

extern const struct syn_select_type syn_select_topk;
extern const struct syn_exchange_type syn_exchange_allgather;
extern const struct syn_exchange_type syn_exchange_split;

struct adaptive {
    struct syn_exchange_setup setup;
    struct syn_ring *ring;
    void *split; /* NULL if there is no room for lists */
    struct syn_short_lists *short_lists;
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
    free(own);
}

static enum syn_status open_lists(struct adaptive *own)
{
    const struct syn_exchange_setup *setup = &own->setup;
    SYN_TRY(syn_exchange_split.open(setup, &own->split));
    return syn_short_lists_open(setup, &own->short_lists);
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

static enum syn_status run_lists(struct adaptive *own, const struct syn_contribution *in,
                                 struct syn_outcome *out)
{
    if (in->about.size == 0) { /* all workers have nothing to send */
        out->merged.count = 0;
        out->dropped.count = 0;
        out->is_nonfinite = false;
        return SYN_OK;
    }
    if (!own->split || in->about.limit > own->setup.limit)
        return syn_fail(SYN_INVALID, "density %g is above the maximum that room was allocated for",
                        in->density);
    if (syn_lists_are_short(in->about.limit, own->setup.group->workers))
        return syn_short_lists_run(own->short_lists, in, out);
    return syn_exchange_split.run(own->split, in, out);
}

/* All buckets of a step have the same density, so all of them send lists, or none. */
static enum syn_status run(void *state, const struct syn_contribution *in, struct syn_outcome *out)
{
    bool is_list = in->density > 0 && in->density < 1;
    return is_list ? run_lists(state, in, out) : run_dense(state, in, out);
}

static size_t merged_most(const struct syn_exchange_setup *setup)
{
    if (setup->limit == 0)
        return 0;
    size_t most = syn_exchange_split.merged_most(setup);
    size_t most_of_short = syn_short_lists_merged_most(setup);
    return most > most_of_short ? most : most_of_short;
}

/* Short lists drop less than those of split. */
static size_t dropped_most(const struct syn_exchange_setup *setup)
{
    return setup->limit > 0 ? syn_exchange_split.dropped_most(setup) : 0;
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
    .picks = &syn_select_topk,
    .rounds = syn_ring_rounds, /* of its dense way, as is theory() */
    .lists_by = lists_by,
    .theory = theory,
    .merged_most = merged_most,
    .dropped_most = dropped_most,
    .open = open_state,
    .run = run,
    .close = close_state,
};

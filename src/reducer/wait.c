/* The second half of a step: its result. On success, what merges dropped is put back into the
 * residual; on failure, everything is restored to the state before the step. */
#include <stdio.h>

#include "base/clock.h"
#include "reducer/inside.h"

/* Returns the status of the first bucket that failed. */
static enum syn_status wait_for_transfers(struct syn_reducer *reducer, struct slot *slot)
{
    enum syn_status first = SYN_OK;
    for (size_t i = reducer->bucket_count; i-- > 0;) {
        enum syn_status status = syn_comm_wait(reducer->comm, &slot->transfers[i].work);
        first = status != SYN_OK ? status : first;
    }
    return first;
}

/* Return to the state this step started from: the step wrote elsewhere, and nothing has been
 * written since. */
static void undo(struct syn_reducer *reducer, const struct slot *slot)
{
    reducer->newest = slot->before;
    for (size_t i = 0; i < reducer->bucket_count; i++)
        reducer->buckets[i].lags = false; /* what was still to be added is discarded */
    for (size_t i = 0; i < reducer->bucket_count && slot->is_list && reducer->picks->restore; i++)
        reducer->picks->restore(reducer->buckets[i].select, slot->transfers[i].remembered);
}

/* Drop all steps under way, the oldest last, so that its copy of the selections' state is the one
 * restored. Causes of the later steps are discarded: the oldest failure is reported. */
static void roll_back(struct syn_reducer *reducer)
{
    char cause[SYN_ERROR_BYTES];
    memcpy(cause, syn_error_text(), strlen(syn_error_text()) + 1);
    for (uint64_t number = reducer->begun; number-- > reducer->waited;) {
        struct slot *slot = syn_slot(reducer, number);
        wait_for_transfers(reducer, slot);
        undo(reducer, slot);
    }
    reducer->waited = reducer->begun;
    reducer->attempt++;
    reducer->can_drop = false;
    syn_fail_again(SYN_OK, cause);
}

/* The first failure of a step that has run, or its first entry that is not finite. */
static enum syn_status outcome_of(struct syn_reducer *reducer, uint64_t number)
{
    char what[48];
    struct slot *slot = syn_slot(reducer, number);
    SYN_TRY(wait_for_transfers(reducer, slot));
    for (size_t i = 0; i < reducer->bucket_count; i++) {
        const struct syn_outcome *out = &slot->transfers[i].out;
        if (!out->is_nonfinite)
            continue;
        if (out->nonfinite_entry == SYN_ENTRY_UNKNOWN)
            return syn_fail(SYN_NONFINITE, "step %llu: another worker's gradient is not finite",
                            (unsigned long long)number);
        snprintf(what, sizeof what, "step %llu: gradient", (unsigned long long)number);
        return syn_fail_nonfinite(
            reducer->layout, what,
            syn_order_place(&reducer->order, reducer->buckets[i].first + out->nonfinite_entry));
    }
    return SYN_OK;
}

/* Put dropped entries back into every residual after the step, as newer steps have started from
 * it. */
static void take_back(struct syn_reducer *reducer, const struct slot *slot)
{
    size_t ring = reducer->options.depth + 1;
    for (size_t at = slot->before; at != reducer->newest;) {
        at = (at + 1) % ring;
        for (size_t i = 0; i < reducer->bucket_count; i++) {
            const struct bucket *bucket = &reducer->buckets[i];
            const struct syn_outcome *out = &slot->transfers[i].out;
            struct syn_residual residual =
                syn_residual_from(&reducer->residuals[at], bucket->first);
            if (slot->dense_dropped && !slot->is_list)
                syn_kernels()->add(residual.unsent, residual.unsent, out->dense_dropped,
                                   bucket->size);
            else if (residual.unsent)
                syn_residual_take_back(&residual, &out->dropped);
        }
    }
}

/* Join all buckets' lists into one, tensor by tensor: each bucket has its tensors in the layout's
 * order. */
static const struct syn_list *join(struct syn_reducer *reducer, struct slot *slot)
{
    if (reducer->bucket_count == 1)
        return &slot->transfers[0].out.merged;
    struct syn_list *all = &slot->merged;
    all->count = 0;
    memset(reducer->joined, 0, reducer->bucket_count * sizeof *reducer->joined);
    for (size_t t = 0; t < syn_layout_count(reducer->layout); t++) {
        struct syn_tensor tensor = syn_layout_tensor(reducer->layout, t);
        size_t number = reducer->bucket_of[t];
        const struct syn_list *list = &slot->transfers[number].out.merged;
        size_t begin = reducer->order.begins[t] - reducer->buckets[number].first;
        size_t end = syn_list_find(list, begin + tensor.count);
        for (size_t *next = &reducer->joined[number]; *next < end; ++*next)
            syn_list_append(all, (uint32_t)(list->index[*next] - begin + tensor.offset),
                            list->value[*next]);
    }
    return all;
}

static struct syn_cost add_up(const struct syn_reducer *reducer, const struct slot *slot)
{
    struct syn_cost cost = {.select_ms = (double)(slot->select_ns - slot->encode_ns) * 1e-6,
                            .encode_ms = (double)slot->encode_ns * 1e-6,
                            .forgotten = slot->forgotten.sum,
                            .forgotten_mass = slot->forgotten.mass};
    for (size_t i = 0; i < reducer->bucket_count; i++) {
        const struct transfer *transfer = &slot->transfers[i];
        cost.bytes_out += transfer->work.cost.bytes_out;
        cost.bytes_in += transfer->work.cost.bytes_in;
        cost.selected += transfer->in.list.count;
        cost.taken_back += transfer->out.dropped.count;
        cost.exchange_ms += transfer->work.cost.exchange_ms;
        if (transfer->threshold > cost.threshold)
            cost.threshold = transfer->threshold;
        if (transfer->out.is_answered) {
            cost.answers = 1;
            cost.staleness = (double)transfer->out.staleness;
            cost.staleness_most = transfer->out.staleness;
        }
    }
    if (!slot->is_list)
        cost.selected = reducer->size;
    return cost;
}

static struct syn_merged deliver(struct syn_reducer *reducer, struct slot *slot)
{
    struct syn_merged merged = {.cost = add_up(reducer, slot)};
    if (!slot->is_list) {
        if (slot->placed)
            syn_order_restore(&reducer->order, slot->dense, slot->placed, reducer->size);
        merged.dense = slot->placed ? slot->placed : slot->dense;
        merged.count = reducer->size;
        return merged;
    }
    const struct syn_list *list = join(reducer, slot);
    merged.index = list->index;
    merged.value = list->value;
    merged.count = list->count;
    return merged;
}

enum syn_status syn_reducer_wait(struct syn_reducer *reducer, struct syn_ticket ticket,
                                 struct syn_merged *merged)
{
    if (reducer->is_filling)
        return syn_fail(SYN_INVALID,
                        "waiting for step %llu while not all tensors of another step are ready",
                        (unsigned long long)ticket.number);
    if (ticket.number != reducer->waited || reducer->waited == reducer->begun)
        return syn_fail(SYN_INVALID, "waiting for step %llu; expected %llu, the oldest under way",
                        (unsigned long long)ticket.number, (unsigned long long)reducer->waited);
    int64_t began = syn_clock_ns();
    struct slot *slot = syn_slot(reducer, ticket.number);
    wait_for_transfers(reducer, slot);
    int64_t waited = syn_clock_ns() - began;
    enum syn_status status = outcome_of(reducer, ticket.number);
    if (status != SYN_OK) {
        roll_back(reducer);
        return status;
    }
    take_back(reducer, slot);
    reducer->waited++;
    reducer->can_drop = true;
    *merged = deliver(reducer, slot);
    merged->cost.wait_ms = (double)waited * 1e-6;
    return SYN_OK;
}

enum syn_status syn_reducer_collect(struct syn_reducer *reducer, struct syn_merged *merged,
                                    double *lr)
{
    struct syn_ticket oldest = {reducer->waited};
    *lr = syn_slot(reducer, oldest.number)->lr;
    return syn_reducer_wait(reducer, oldest, merged);
}

enum syn_status syn_reducer_drop(struct syn_reducer *reducer)
{
    if (reducer->begun != reducer->waited)
        return syn_fail(SYN_INVALID, "%llu steps are under way; wait for them before dropping one",
                        (unsigned long long)(reducer->begun - reducer->waited));
    if (!reducer->can_drop)
        return syn_fail(SYN_INVALID,
                        "there is no step to drop since the last drop, load or failed step");
    undo(reducer, syn_slot(reducer, reducer->waited - 1));
    reducer->can_drop = false;
    return SYN_OK;
}

void syn_merged_to_dense(const struct syn_merged *merged, float *dense, size_t size)
{
    if (merged->dense) {
        memcpy(dense, merged->dense, size * sizeof *dense);
        return;
    }
    memset(dense, 0, size * sizeof *dense);
    for (size_t i = 0; i < merged->count; i++)
        dense[merged->index[i]] = merged->value[i];
}

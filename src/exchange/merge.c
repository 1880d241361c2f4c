/* Merging lists pairwise, and keeping track of what each merge drops.
 *
 * A sum is rounded when it is passed on, and the group's lowest rank has to return what that
 * removed. With putback owner it waits until the end: if a later merge drops the sum, its owners
 * take back all that they contributed to it, which includes what was rounded off.
 *
 * A list marked as non-finite stays so: the mark is passed on instead of the sums. */
#include "exchange/merge.h"

#include <stdlib.h>

#include "base/memory.h"

struct merge {
    struct syn_exchange_setup setup;
    syn_rounds *rounds;
    const struct syn_contribution *in; /* of the bucket under way */
    struct syn_outcome *out;
    struct syn_list current; /* the group's list */
    struct syn_list other;   /* the received list */
    struct syn_list sum;
    struct syn_list dropped; /* by the merge under way */
    /* With putback owner: entries still in the lists, our own and a folded worker's; and what this
     * worker has rounded off sums that are still in the lists. */
    struct syn_list own[2];
    struct syn_list rounded[2]; /* the other one is for adding to it */
    uint8_t *going;             /* the group's list, encoded */
    size_t going_bytes;
    uint8_t *coming;
    size_t packet_room;
};

/* Bytes that the busiest worker sends: one list per round, however workers are paired. Workers
 * beyond the largest power of two add one round: their partner sends them the result. */
double syn_merge_theory(const struct syn_exchange_setup *setup, size_t packet_bytes)
{
    return (double)(syn_log2_up(setup->group->workers) * packet_bytes);
}

size_t syn_merge_merged_most(const struct syn_exchange_setup *setup)
{
    return setup->limit;
}

/* Two lists' worth per merge, by rounding and by dropping. */
size_t syn_merge_dropped_most(const struct syn_exchange_setup *setup)
{
    return 2 * setup->limit * (syn_log2_up(setup->group->workers) + 2);
}

void syn_merge_close(void *state)
{
    struct merge *merge = state;
    if (!merge)
        return;
    syn_list_close(&merge->current);
    syn_list_close(&merge->other);
    syn_list_close(&merge->sum);
    syn_list_close(&merge->dropped);
    syn_list_close(&merge->own[0]);
    syn_list_close(&merge->own[1]);
    syn_list_close(&merge->rounded[0]);
    syn_list_close(&merge->rounded[1]);
    free(merge->going);
    free(merge->coming);
    free(merge);
}

static enum syn_status allocate(struct merge *merge, const struct syn_exchange_setup *setup)
{
    size_t limit = setup->limit;
    merge->setup = *setup;
    merge->packet_room = syn_packet_bound(setup->values, setup->indices, limit, setup->size);
    SYN_TRY(syn_list_open(&merge->current, limit));
    SYN_TRY(syn_list_open(&merge->other, limit));
    SYN_TRY(syn_list_open(&merge->sum, 2 * limit));
    SYN_TRY(syn_list_open(&merge->dropped, 2 * limit));
    SYN_TRY(syn_list_open(&merge->own[0], limit));
    SYN_TRY(syn_list_open(&merge->own[1], limit));
    /* A list per round: what is rounded to zero may vanish from the lists. */
    bool keeps = setup->putback == SYN_PUTBACK_OWNER && !setup->values->is_exact;
    size_t rounded = keeps ? limit * (syn_log2_up(setup->group->workers) + 2) : 0;
    SYN_TRY(syn_list_open(&merge->rounded[0], rounded));
    SYN_TRY(syn_list_open(&merge->rounded[1], rounded));
    SYN_TRY(syn_reserve(1, merge->packet_room, &merge->going));
    return syn_reserve(1, merge->packet_room, &merge->coming);
}

void syn_merge_vacate(void *state)
{
    struct merge *merge = state;
    struct syn_list *lists[] = {&merge->current,    &merge->other,     &merge->sum,
                                &merge->dropped,    &merge->own[0],    &merge->own[1],
                                &merge->rounded[0], &merge->rounded[1]};
    for (size_t i = 0; i < sizeof lists / sizeof lists[0]; i++)
        syn_list_vacate(lists[i]);
    syn_vacate(merge->going, 1, merge->packet_room);
    syn_vacate(merge->coming, 1, merge->packet_room);
}

enum syn_status syn_merge_open(const struct syn_exchange_setup *setup, syn_rounds *rounds,
                               void **state)
{
    struct merge *made;
    SYN_TRY(syn_allocate(1, sizeof *made, &made));
    made->rounds = rounds;
    enum syn_status status = allocate(made, setup);
    if (status != SYN_OK) {
        syn_merge_close(made);
        return status;
    }
    *state = made;
    return SYN_OK;
}

/* Begin with this worker's own contribution. */
static void begin(struct merge *merge, const struct syn_contribution *in, struct syn_outcome *out)
{
    merge->in = in;
    merge->out = out;
    out->is_nonfinite = false;
    out->dropped.count = 0;
    syn_list_copy(&merge->current, &in->list);
    syn_list_copy(&merge->own[0], &in->list);
    merge->own[1].count = 0;
    merge->rounded[0].count = 0;
    memcpy(merge->going, in->packet, in->packet_bytes);
    merge->going_bytes = in->packet_bytes;
    if (in->is_nonfinite) {
        struct syn_packet_content content;
        if (syn_packet_decode(&in->about, in->packet, in->packet_bytes, merge->setup.group->rank,
                              &merge->other, &content) == SYN_OK)
            syn_outcome_mark_nonfinite(out, content.nonfinite_entry);
    }
}

/* Add entries to those that this worker takes back. */
static void take_back(struct merge *merge, const struct syn_list *list)
{
    for (size_t i = 0; i < list->count; i++)
        syn_list_append(&merge->out->dropped, list->index[i], list->value[i]);
}

/* Take the entries that the merge dropped out of `own`, and add them to `back` unless that is NULL.
 * Lists are sorted. */
static void take_out(const struct syn_list *dropped, struct syn_list *own, struct syn_list *back)
{
    size_t stay = 0;
    size_t j = 0;
    for (size_t i = 0; i < own->count; i++) {
        while (j < dropped->count && dropped->index[j] < own->index[i])
            j++;
        bool is_dropped = j < dropped->count && dropped->index[j] == own->index[i];
        if (is_dropped && back) {
            syn_list_append(back, own->index[i], own->value[i]);
        } else if (!is_dropped) {
            own->index[stay] = own->index[i];
            own->value[stay++] = own->value[i];
        }
    }
    own->count = stay;
}

static void account_for_dropped(struct merge *merge, bool is_lowest)
{
    if (merge->setup.putback == SYN_PUTBACK_OWNER) {
        take_out(&merge->dropped, &merge->own[0], &merge->out->dropped);
        take_out(&merge->dropped, &merge->own[1], &merge->out->dropped);
        take_out(&merge->dropped, &merge->rounded[0], NULL);
    } else if (merge->setup.putback == SYN_PUTBACK_MERGER && is_lowest) {
        take_back(merge, &merge->dropped);
    }
}

/* current = the largest of current + other. */
static void merge_other(struct merge *merge, bool is_lowest)
{
    syn_list_add(&merge->sum, &merge->current, &merge->other);
    syn_list_keep_largest(&merge->sum, merge->in->about.limit, &merge->dropped);
    syn_list_copy(&merge->current, &merge->sum);
    account_for_dropped(merge, is_lowest);
    /* Two finite values may add up to infinity. */
    size_t bad = syn_first_not_finite(merge->current.value, merge->current.count);
    if (bad < merge->current.count)
        syn_outcome_mark_nonfinite(merge->out, merge->current.index[bad]);
}

static enum syn_status decode_other(struct merge *merge, size_t peer, size_t bytes)
{
    struct syn_packet_content content;
    SYN_TRY(
        syn_packet_decode(&merge->in->about, merge->coming, bytes, peer, &merge->other, &content));
    if (content.is_nonfinite)
        syn_outcome_mark_nonfinite(merge->out, content.nonfinite_entry);
    return SYN_OK;
}

static enum syn_status send(struct merge *merge, size_t peer)
{
    struct syn_request request = {0};
    struct syn_group *group = merge->setup.group;
    SYN_TRY(syn_group_send(group, peer, merge->going, merge->going_bytes, &request));
    return syn_group_wait(group, &request, 1);
}

static enum syn_status receive(struct merge *merge, size_t peer)
{
    struct syn_request request = {0};
    struct syn_group *group = merge->setup.group;
    SYN_TRY(syn_group_receive(group, peer, merge->coming, merge->packet_room, &request));
    SYN_TRY(syn_group_wait(group, &request, 1));
    return decode_other(merge, peer, request.count);
}

/* Swap lists with a peer. */
static enum syn_status swap(struct merge *merge, size_t peer)
{
    size_t came;
    SYN_TRY(syn_exchange_swap(merge->setup.group, peer, merge->going, merge->going_bytes, peer,
                              merge->coming, merge->packet_room, &came));
    return decode_other(merge, peer, came);
}

/* What rounding has just removed from the group's list is this worker's to take back: at once, or
 * at the end, unless the sum is dropped.
 *   merge->sum  the list before rounding */
static void account_for_rounding(struct merge *merge)
{
    struct syn_list *removed = &merge->other; /* which has been merged */
    removed->count = 0;
    for (size_t i = 0; i < merge->current.count; i++)
        if (merge->sum.value[i] != merge->current.value[i])
            syn_list_append(removed, merge->sum.index[i],
                            merge->sum.value[i] - merge->current.value[i]);
    if (merge->setup.putback != SYN_PUTBACK_OWNER) {
        take_back(merge, removed);
        return;
    }
    syn_list_add(&merge->rounded[1], &merge->rounded[0], removed);
    struct syn_list all = merge->rounded[1];
    merge->rounded[1] = merge->rounded[0];
    merge->rounded[0] = all;
}

/* Encode the group's list again. */
static void encode(struct merge *merge, bool is_lowest)
{
    const struct syn_packet_about *about = &merge->in->about;
    const struct syn_exchange_setup *setup = &merge->setup;
    if (merge->out->is_nonfinite) {
        merge->going_bytes = syn_packet_nonfinite(about, merge->out->nonfinite_entry, merge->going);
        return;
    }
    syn_list_copy(&merge->sum, &merge->current); /* as it was before rounding */
    merge->going_bytes =
        syn_packet_encode(about, setup->values, setup->indices, 0, &merge->current, merge->going);
    if (!setup->values->is_exact && is_lowest)
        account_for_rounding(merge);
}

/* A worker that sends us its list but does not receive ours does not see the merges that follow: we
 * track its entries for it. A list that is received but not added is a final result computed by
 * another worker. */
static enum syn_status play(struct merge *merge, const struct syn_round *round)
{
    bool sends = round->send.count > 0;
    bool receives = round->receive.count > 0;
    if (sends && receives)
        SYN_TRY(swap(merge, round->receive.first));
    else if (sends)
        SYN_TRY(send(merge, round->send.first));
    else
        SYN_TRY(receive(merge, round->receive.first));
    if (round->adds > 0) {
        if (!sends && merge->setup.putback == SYN_PUTBACK_OWNER)
            syn_list_copy(&merge->own[1], &merge->other);
        merge_other(merge, round->is_lowest);
    } else if (receives) {
        syn_list_copy(&merge->current, &merge->other);
    }
    if (round->is_passed_on)
        encode(merge, round->is_lowest);
    return SYN_OK;
}

/* Deliver the outcome. */
static void finish(struct merge *merge)
{
    syn_list_copy(&merge->out->merged, &merge->current);
    syn_list_drop_zeros(&merge->out->merged); /* values that were rounded to zero */
    take_back(merge, &merge->rounded[0]);
    /* The published rule: take back the own entries that the result lacks. */
    if (merge->setup.putback == SYN_PUTBACK_PAPER)
        syn_list_append_absent(&merge->out->dropped, &merge->in->list, &merge->current);
}

enum syn_status syn_merge_run(void *state, const struct syn_contribution *in,
                              struct syn_outcome *out)
{
    struct merge *merge = state;
    const struct syn_group *group = merge->setup.group;
    struct syn_members members = {.workers = group->workers};
    struct syn_round round = {0};
    begin(merge, in, out);
    for (size_t n = 0; merge->rounds(members, group->rank, n, &round); n++) {
        SYN_TRY(play(merge, &round));
        round = (struct syn_round){0};
    }
    finish(merge);
    return SYN_OK;
}

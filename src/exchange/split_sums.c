/* The second message of a split: every owner's largest sums to all workers, and the entries that
 * each worker takes back because they are not among these. */
#include "exchange/split.h"

/* Keep the largest sums, and encode them. Returns the number of bytes of this owner's packet. */
static size_t keep_largest(struct syn_split *split, const struct syn_contribution *in,
                           struct syn_outcome *out)
{
    size_t rank = split->setup.group->rank;
    struct syn_packet_about about = syn_split_about_kept(split, in, rank);
    size_t bad = syn_first_not_finite(split->sum.value, split->sum.count);
    if (bad < split->sum.count)
        syn_outcome_mark_nonfinite(out, (uint32_t)syn_owned_entry(rank, split->sum.index[bad],
                                                                  split->setup.group->workers));
    if (out->is_nonfinite) {
        split->kept[rank].count = 0;
        return syn_packet_nonfinite(
            &about, syn_owner_of(out->nonfinite_entry, split->setup.group->workers).local,
            split->kept_packet);
    }
    syn_list_keep_largest(&split->sum, about.limit, NULL);
    syn_list_copy(&split->kept[rank], &split->sum);
    return syn_split_encode(split, &about, split->sum_values, 0, rank, &split->kept[rank],
                            split->kept_packet, &out->dropped);
}

static enum syn_status send_sums(struct syn_split *split, size_t bytes)
{
    struct syn_post *post = &split->post;
    enum syn_status status =
        syn_post_begin(post, syn_owners_rounds, 1, split->collected, split->kept_room);
    for (size_t i = 0; i < post->round.send.count && status == SYN_OK; i++)
        status = syn_post_send(post, syn_post_peer(post, i), split->kept_packet, bytes);
    return syn_post_finish(post, status);
}

static enum syn_status read_sums(struct syn_split *split, const struct syn_contribution *in,
                                 struct syn_outcome *out)
{
    const struct syn_group *group = split->setup.group;
    for (size_t owner = 0; owner < group->workers; owner++) {
        if (owner == group->rank)
            continue;
        struct syn_packet_about about = syn_split_about_kept(split, in, owner);
        SYN_TRY(syn_split_decode(split, in, &about, split->collected + owner * split->kept_room,
                                 syn_post_came(&split->post, owner), owner, owner,
                                 &split->kept[owner], out));
    }
    return SYN_OK;
}

/* All owners' sums as one sorted list: the blocks in order, each from its owner's list. */
static void join(struct syn_split *split, size_t size, struct syn_list *merged)
{
    size_t workers = split->setup.group->workers;
    memset(split->next, 0, workers * sizeof *split->next);
    merged->count = 0;
    for (size_t first = 0; first < size; first += SYN_OWNED_BLOCK) {
        struct syn_owned place = syn_owner_of((uint32_t)first, workers);
        const struct syn_list *kept = &split->kept[place.owner];
        size_t *next = &split->next[place.owner];
        for (; *next < kept->count && kept->index[*next] - place.local < SYN_OWNED_BLOCK; ++*next)
            syn_list_append(merged, (uint32_t)first + kept->index[*next] - place.local,
                            kept->value[*next]);
    }
}

/* Take back the entries of this worker's own list that the result lacks, with the values that were
 * sent: what rounding removed was taken back before. */
static void take_back_absent(const struct syn_split *split, struct syn_list *dropped)
{
    size_t workers = split->setup.group->workers;
    for (size_t owner = 0; owner < workers; owner++) {
        size_t from = dropped->count;
        syn_list_append_absent(dropped, &split->portions[owner], &split->kept[owner]);
        for (size_t i = from; i < dropped->count; i++)
            dropped->index[i] = (uint32_t)syn_owned_entry(owner, dropped->index[i], workers);
    }
}

enum syn_status syn_split_collect(struct syn_split *split, const struct syn_contribution *in,
                                  struct syn_outcome *out)
{
    SYN_TRY(send_sums(split, keep_largest(split, in, out)));
    SYN_TRY(read_sums(split, in, out));
    if (out->is_nonfinite)
        return SYN_OK;
    take_back_absent(split, &out->dropped);
    join(split, in->about.size, &out->merged);
    syn_list_drop_zeros(&out->merged); /* values that were rounded to zero */
    return SYN_OK;
}

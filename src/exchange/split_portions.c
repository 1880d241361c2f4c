/* The first message of a split: each worker sends every owner its portion of the list, and the
 * owner adds up the portions in the order of the ranks. */
#include "exchange/split.h"

static size_t smaller(size_t a, size_t b)
{
    return a < b ? a : b;
}

/* `keep` times limit, distributed evenly; at least one, or an owner's entries would never
 * change. */
size_t syn_split_share(const struct syn_exchange_setup *setup, size_t limit, size_t owner)
{
    size_t workers = setup->group->workers;
    double all = setup->keep > 0 ? setup->keep * (double)limit : (double)workers * (double)limit;
    uint64_t total = all < 9e15 ? (uint64_t)all : UINT64_C(9000000000000000);
    size_t dealt = (size_t)(total * (owner + 1) / workers - total * owner / workers);
    return dealt > 0 ? dealt : 1;
}

struct syn_packet_about syn_split_about_portions(const struct syn_split *split,
                                                 const struct syn_contribution *in)
{
    struct syn_packet_about about = in->about;
    about.size = (uint32_t)syn_owned_size(in->about.size, split->setup.group->workers);
    about.limit = (uint32_t)smaller(in->about.limit, about.size);
    return about;
}

struct syn_packet_about syn_split_about_kept(const struct syn_split *split,
                                             const struct syn_contribution *in, size_t owner)
{
    struct syn_packet_about about = syn_split_about_portions(split, in);
    size_t share = syn_split_share(&split->setup, in->about.limit, owner);
    about.limit = (uint32_t)(in->is_whole ? about.size : smaller(share, about.size));
    return about;
}

size_t syn_split_encode(struct syn_split *split, const struct syn_packet_about *about,
                        const struct syn_value_type *values, float scale, size_t owner,
                        struct syn_list *list, uint8_t *bytes, struct syn_list *dropped)
{
    size_t workers = split->setup.group->workers;
    memcpy(split->before.value, list->value, list->count * sizeof *list->value);
    size_t made = syn_packet_encode(about, values, split->setup.indices, scale, list, bytes);
    for (size_t i = 0; i < list->count && !values->is_exact; i++)
        if (split->before.value[i] != list->value[i])
            syn_list_append(dropped, (uint32_t)syn_owned_entry(owner, list->index[i], workers),
                            split->before.value[i] - list->value[i]);
    return made;
}

/* The last index is the largest: an owner's numbering is in the order of the entries. */
static enum syn_status check_entries(const struct syn_split *split,
                                     const struct syn_contribution *in, const struct syn_list *list,
                                     size_t owner, size_t sender)
{
    if (list->count == 0)
        return SYN_OK;
    uint64_t entry =
        syn_owned_entry(owner, list->index[list->count - 1], split->setup.group->workers);
    if (entry >= in->about.size)
        return syn_fail(SYN_FORMAT, "packet from worker %zu: entry %llu is not below %u", sender,
                        (unsigned long long)entry, in->about.size);
    return SYN_OK;
}

/* Record a non-finite mark that an owner sent or received. */
static enum syn_status note_bad(const struct syn_split *split, const struct syn_contribution *in,
                                size_t owner, uint32_t local, size_t sender,
                                struct syn_outcome *out)
{
    uint64_t entry = syn_owned_entry(owner, local, split->setup.group->workers);
    if (entry >= in->about.size)
        return syn_fail(SYN_FORMAT,
                        "packet from worker %zu: non-finite mark at entry %llu, not below %u",
                        sender, (unsigned long long)entry, in->about.size);
    syn_outcome_mark_nonfinite(out, (uint32_t)entry);
    return SYN_OK;
}

enum syn_status syn_split_decode(const struct syn_split *split, const struct syn_contribution *in,
                                 const struct syn_packet_about *about, const uint8_t *bytes,
                                 size_t count, size_t owner, size_t sender, struct syn_list *list,
                                 struct syn_outcome *out)
{
    struct syn_packet_content content;
    SYN_TRY(syn_packet_decode(about, bytes, count, sender, list, &content));
    if (content.is_nonfinite)
        SYN_TRY(note_bad(split, in, owner, content.nonfinite_entry, sender, out));
    return check_entries(split, in, list, owner, sender);
}

static void cut(struct syn_split *split, const struct syn_contribution *in)
{
    size_t workers = split->setup.group->workers;
    for (size_t i = 0; i < workers; i++)
        split->portions[i].count = 0;
    for (size_t i = 0; i < in->list.count && !in->is_nonfinite; i++) {
        struct syn_owned place = syn_owner_of(in->list.index[i], workers);
        syn_list_append(&split->portions[place.owner], place.local, in->list.value[i]);
    }
}

static size_t encode_portion(struct syn_split *split, const struct syn_contribution *in,
                             size_t owner, struct syn_outcome *out)
{
    struct syn_packet_about about = syn_split_about_portions(split, in);
    uint8_t *bytes = split->going + owner * split->portion_room;
    struct syn_owned bad = syn_owner_of(in->nonfinite_entry, split->setup.group->workers);
    if (in->is_nonfinite && bad.owner == owner)
        return syn_packet_nonfinite(&about, bad.local, bytes);
    return syn_split_encode(split, &about, split->setup.values, in->scale, owner,
                            &split->portions[owner], bytes, &out->dropped);
}

/* The right neighbour's portion goes first. */
static enum syn_status send_portions(struct syn_split *split, const struct syn_contribution *in,
                                     struct syn_outcome *out, size_t *own_bytes)
{
    struct syn_post *post = &split->post;
    enum syn_status status =
        syn_post_begin(post, syn_owners_rounds, 0, split->coming, split->portion_room);
    for (size_t i = 0; i < post->round.send.count && status == SYN_OK; i++) {
        size_t owner = syn_post_peer(post, i);
        size_t bytes = encode_portion(split, in, owner, out);
        status = syn_post_send(post, owner, split->going + owner * split->portion_room, bytes);
    }
    *own_bytes = encode_portion(split, in, post->group->rank, out);
    return syn_post_finish(post, status);
}

/* Add up the received portions, in the order of the ranks. */
static enum syn_status add_portions(struct syn_split *split, const struct syn_contribution *in,
                                    size_t own_bytes, struct syn_outcome *out)
{
    const struct syn_group *group = split->setup.group;
    struct syn_packet_about about = syn_split_about_portions(split, in);
    enum syn_status status = SYN_OK;
    for (size_t peer = 0; peer < group->workers && status == SYN_OK; peer++) {
        bool is_own = peer == group->rank;
        const uint8_t *bytes = (is_own ? split->going : split->coming) + peer * split->portion_room;
        size_t count = is_own ? own_bytes : syn_post_came(&split->post, peer);
        status =
            syn_split_decode(split, in, &about, bytes, count, group->rank, peer, &split->came, out);
        if (status == SYN_OK)
            syn_scatter_add(&split->sums, &split->came, 0, 0);
    }
    split->sum.count = 0;
    syn_scatter_collect(&split->sums, 0, &split->sum);
    return status;
}

enum syn_status syn_split_reduce(struct syn_split *split, const struct syn_contribution *in,
                                 struct syn_outcome *out)
{
    size_t own_bytes = 0;
    cut(split, in);
    SYN_TRY(send_portions(split, in, out, &own_bytes));
    return add_portions(split, in, own_bytes, out);
}

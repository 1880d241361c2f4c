/* A sparse all-reduce in two messages: every worker sends each owner its piece of the list; the
 * owner adds the pieces in the order of the ranks, keeps the largest sums and sends them to all.
 * Each worker sends 2(P-1)/P lists instead of the log2 P of pairwise merging or the P-1 of an
 * all-gather, with two latencies whatever P is, and any P will do.
 *
 * Nothing is lost. There are no inner merges, so an entry whose sum was kept was counted in full
 * for everyone who sent it, and one whose sum was not kept goes back to exactly those who sent it.
 * What rounding takes from a piece goes back to its worker, what it takes from a sum to the owner.
 *
 * A contribution that is not finite is sent to the owner of its first such entry, who sends it to
 * everybody. */
#include <stdlib.h>

#include "base/memory.h"
#include "exchange/exchange.h"
#include "exchange/owners.h"

struct split {
    struct syn_exchange_setup setup;
    const struct syn_value_type *sums; /* the form that sums travel in */
    size_t piece_room;
    size_t kept_room;
    uint8_t *going;               /* [workers][piece_room] */
    uint8_t *coming;              /* [workers][piece_room] */
    uint8_t *kept_packet;         /* [kept_room] this owner's sums */
    uint8_t *gathered;            /* [workers][kept_room] everybody's */
    struct syn_request *requests; /* [2 * workers]: receives, then sends */
    struct syn_list *pieces;      /* [workers] of this worker's list, in the owners' numbers */
    struct syn_list *kept;        /* [workers] what each owner kept */
    struct syn_list came;         /* one piece */
    struct syn_list sum;          /* of all pieces */
    struct syn_list before;       /* sums or piece before rounding */
    size_t *next;                 /* [workers] of each owner's sums, the next to join */
    float *dense;                 /* [owned] zeros between calls */
    uint64_t *touched;            /* [owned / 64] a bit an entry */
};

/* How many sums an owner keeps of lists of at most `limit` entries: keep times limit, dealt evenly;
 * at least one, or its entries would never move. */
static size_t share(const struct syn_exchange_setup *setup, size_t limit, size_t owner)
{
    size_t workers = setup->group->workers;
    double all = setup->keep > 0 ? setup->keep * (double)limit : (double)workers * (double)limit;
    uint64_t total = all < 9e15 ? (uint64_t)all : UINT64_C(9000000000000000);
    size_t dealt = (size_t)(total * (owner + 1) / workers - total * owner / workers);
    return dealt > 0 ? dealt : 1;
}

static size_t smaller(size_t a, size_t b)
{
    return a < b ? a : b;
}

static size_t owned_size(const struct syn_exchange_setup *setup, size_t size)
{
    return syn_owned_size(size, setup->group->workers);
}

static size_t piece_most(const struct syn_exchange_setup *setup)
{
    return smaller(setup->limit, owned_size(setup, setup->size));
}

static size_t kept_most(const struct syn_exchange_setup *setup)
{
    size_t most = 0;
    for (size_t owner = 0; owner < setup->group->workers; owner++) {
        size_t own = share(setup, setup->limit, owner);
        most = own > most ? own : most;
    }
    return smaller(most, owned_size(setup, setup->size));
}

/* A packet to each other worker in each of the two messages. */
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

/* Of every entry of one's own list what rounding took, and the rest if its sum was not kept; and
 * what rounding took from each sum. */
static size_t dropped_most(const struct syn_exchange_setup *setup)
{
    return 2 * setup->limit + kept_most(setup);
}

static void close_state(void *state)
{
    struct split *split = state;
    if (!split)
        return;
    for (size_t i = 0; i < split->setup.group->workers; i++) {
        if (split->pieces)
            syn_list_close(&split->pieces[i]);
        if (split->kept)
            syn_list_close(&split->kept[i]);
    }
    free(split->pieces);
    free(split->kept);
    syn_list_close(&split->came);
    syn_list_close(&split->sum);
    syn_list_close(&split->before);
    free(split->going);
    free(split->coming);
    free(split->kept_packet);
    free(split->gathered);
    free(split->requests);
    free(split->dense);
    free(split->touched);
    free(split->next);
    free(split);
}

static void vacate(void *state)
{
    struct split *split = state;
    size_t workers = split->setup.group->workers;
    for (size_t i = 0; i < workers; i++) {
        syn_list_vacate(&split->pieces[i]);
        syn_list_vacate(&split->kept[i]);
    }
    syn_list_vacate(&split->came);
    syn_list_vacate(&split->sum);
    syn_list_vacate(&split->before);
    syn_vacate(split->going, workers, split->piece_room);
    syn_vacate(split->coming, workers, split->piece_room);
    syn_vacate(split->gathered, workers, split->kept_room);
    syn_vacate(split->kept_packet, 1, split->kept_room);
}

static enum syn_status allocate_lists(struct split *split, size_t pieces, size_t kept)
{
    size_t workers = split->setup.group->workers;
    size_t owned = owned_size(&split->setup, split->setup.size);
    size_t sums = smaller(owned, workers * pieces);
    SYN_TRY(syn_allocate(workers, sizeof *split->pieces, &split->pieces));
    SYN_TRY(syn_allocate(workers, sizeof *split->kept, &split->kept));
    SYN_TRY(syn_allocate(workers, sizeof *split->next, &split->next));
    for (size_t i = 0; i < workers; i++) {
        SYN_TRY(syn_list_open(&split->pieces[i], pieces));
        SYN_TRY(syn_list_open(&split->kept[i], kept));
    }
    SYN_TRY(syn_list_open(&split->came, pieces));
    SYN_TRY(syn_list_open(&split->sum, sums));
    SYN_TRY(syn_list_open(&split->before, sums > pieces ? sums : pieces));
    SYN_TRY(syn_allocate(owned, sizeof *split->dense, &split->dense));
    return syn_allocate(owned / 64 + 1, sizeof *split->touched, &split->touched);
}

static size_t aligned(size_t bytes)
{
    return (bytes + SYN_ALIGNMENT - 1) / SYN_ALIGNMENT * SYN_ALIGNMENT;
}

static enum syn_status allocate(struct split *split)
{
    const struct syn_exchange_setup *setup = &split->setup;
    size_t workers = setup->group->workers;
    size_t owned = owned_size(setup, setup->size);
    size_t pieces = piece_most(setup);
    size_t kept = kept_most(setup);
    split->piece_room = aligned(syn_packet_bound(setup->values, setup->indices, pieces, owned));
    split->kept_room = aligned(syn_packet_bound(split->sums, setup->indices, kept, owned));
    SYN_TRY(syn_reserve(workers, split->piece_room, &split->going));
    SYN_TRY(syn_reserve(workers, split->piece_room, &split->coming));
    SYN_TRY(syn_reserve(workers, split->kept_room, &split->gathered));
    SYN_TRY(syn_reserve(1, split->kept_room, &split->kept_packet));
    SYN_TRY(syn_allocate(2 * workers, sizeof *split->requests, &split->requests));
    return allocate_lists(split, pieces, kept);
}

static enum syn_status open_state(const struct syn_exchange_setup *setup, void **state)
{
    struct split *split;
    SYN_TRY(syn_allocate(1, sizeof *split, &split));
    split->setup = *setup;
    /* Signs add up to small multiples of thresholds that differ between workers. */
    split->sums = setup->values->needs_scale ? syn_value_find("q8") : setup->values;
    enum syn_status status = allocate(split);
    if (status != SYN_OK) {
        close_state(split);
        return status;
    }
    *state = split;
    return SYN_OK;
}

static void append(struct syn_list *list, uint32_t index, float value)
{
    list->index[list->count] = index;
    list->value[list->count++] = value;
}

static struct syn_packet_about about_pieces(const struct split *split,
                                            const struct syn_contribution *in)
{
    struct syn_packet_about about = in->about;
    about.size = (uint32_t)owned_size(&split->setup, in->about.size);
    about.limit = (uint32_t)smaller(in->about.limit, about.size);
    return about;
}

static struct syn_packet_about about_kept(const struct split *split,
                                          const struct syn_contribution *in, size_t owner)
{
    struct syn_packet_about about = about_pieces(split, in);
    about.limit = (uint32_t)smaller(share(&split->setup, in->about.limit, owner), about.size);
    return about;
}

/* Encode a list; what rounding takes from it goes back. */
static size_t encode(struct split *split, const struct syn_packet_about *about,
                     const struct syn_value_type *values, float scale, size_t owner,
                     struct syn_list *list, uint8_t *bytes, struct syn_list *dropped)
{
    size_t workers = split->setup.group->workers;
    memcpy(split->before.value, list->value, list->count * sizeof *list->value);
    size_t made = syn_packet_encode(about, values, split->setup.indices, scale, list, bytes);
    for (size_t i = 0; i < list->count && !values->is_exact; i++)
        if (split->before.value[i] != list->value[i])
            append(dropped, (uint32_t)syn_owned_entry(owner, list->index[i], workers),
                   split->before.value[i] - list->value[i]);
    return made;
}

static void cut(struct split *split, const struct syn_contribution *in)
{
    size_t workers = split->setup.group->workers;
    for (size_t i = 0; i < workers; i++)
        split->pieces[i].count = 0;
    for (size_t i = 0; i < in->list.count && !in->is_nonfinite; i++) {
        struct syn_owned place = syn_owner_of(in->list.index[i], workers);
        append(&split->pieces[place.owner], place.local, in->list.value[i]);
    }
}

static size_t encode_piece(struct split *split, const struct syn_contribution *in, size_t owner,
                           struct syn_outcome *out)
{
    struct syn_packet_about about = about_pieces(split, in);
    uint8_t *bytes = split->going + owner * split->piece_room;
    struct syn_owned bad = syn_owner_of(in->nonfinite_entry, split->setup.group->workers);
    if (in->is_nonfinite && bad.owner == owner)
        return syn_packet_nonfinite(&about, bad.local, bytes);
    return encode(split, &about, split->setup.values, in->scale, owner, &split->pieces[owner],
                  bytes, &out->dropped);
}

/* Post the receives first, so that nothing that comes has to be kept elsewhere. */
static enum syn_status receive_all(struct split *split, uint8_t *room, size_t each)
{
    struct syn_group *group = split->setup.group;
    size_t workers = group->workers;
    memset(split->requests, 0, 2 * workers * sizeof *split->requests);
    for (size_t i = 1; i < workers; i++) {
        size_t peer = (group->rank + workers - i) % workers;
        SYN_TRY(syn_group_receive(group, peer, room + peer * each, each, &split->requests[peer]));
    }
    return SYN_OK;
}

static enum syn_status send(struct split *split, size_t peer, const uint8_t *bytes, size_t count)
{
    struct syn_group *group = split->setup.group;
    return syn_group_send(group, peer, bytes, count, &split->requests[group->workers + peer]);
}

/* Wait for what was started, also if something could not be. */
static enum syn_status finish(struct split *split, enum syn_status status)
{
    struct syn_group *group = split->setup.group;
    if (status != SYN_OK)
        syn_group_abandon(group, status, syn_error_text());
    return syn_group_wait(group, split->requests, 2 * group->workers);
}

/* First message: to every owner its piece, the right neighbour's first. */
static enum syn_status send_pieces(struct split *split, const struct syn_contribution *in,
                                   struct syn_outcome *out, size_t *own_bytes)
{
    const struct syn_group *group = split->setup.group;
    enum syn_status status = receive_all(split, split->coming, split->piece_room);
    for (size_t i = 1; i < group->workers && status == SYN_OK; i++) {
        size_t owner = (group->rank + i) % group->workers;
        size_t bytes = encode_piece(split, in, owner, out);
        status = send(split, owner, split->going + owner * split->piece_room, bytes);
    }
    *own_bytes = encode_piece(split, in, group->rank, out);
    return finish(split, status);
}

static void accumulate(struct split *split, const struct syn_list *list)
{
    for (size_t i = 0; i < list->count; i++) {
        uint32_t at = list->index[i];
        split->dense[at] += list->value[i];
        split->touched[at / 64] |= (uint64_t)1 << (at % 64);
    }
}

/* The sums as a sorted list, leaving zeros behind; a sum of exactly zero is none. */
static void collect(struct split *split, size_t owned)
{
    split->sum.count = 0;
    for (size_t word = 0; word <= owned / 64; word++) {
        for (uint64_t bits = split->touched[word]; bits; bits &= bits - 1) {
            uint32_t at = (uint32_t)(64 * word) + (uint32_t)__builtin_ctzll(bits);
            if (split->dense[at] != 0)
                append(&split->sum, at, split->dense[at]);
            split->dense[at] = 0;
        }
        split->touched[word] = 0;
    }
}

static enum syn_status check_entries(const struct split *split, const struct syn_contribution *in,
                                     const struct syn_list *list, size_t owner, size_t sender)
{
    size_t workers = split->setup.group->workers;
    for (size_t i = 0; i < list->count; i++) {
        uint64_t entry = syn_owned_entry(owner, list->index[i], workers);
        if (entry >= in->about.size)
            return syn_fail(SYN_FORMAT, "packet from worker %zu: entry %llu of %u", sender,
                            (unsigned long long)entry, in->about.size);
    }
    return SYN_OK;
}

/* A non-finite mark that an owner sent, or was sent. */
static enum syn_status note_bad(const struct split *split, const struct syn_contribution *in,
                                size_t owner, uint32_t local, size_t sender,
                                struct syn_outcome *out)
{
    uint64_t entry = syn_owned_entry(owner, local, split->setup.group->workers);
    if (entry >= in->about.size)
        return syn_fail(SYN_FORMAT, "packet from worker %zu: non-finite mark at entry %llu of %u",
                        sender, (unsigned long long)entry, in->about.size);
    syn_outcome_mark_nonfinite(out, (uint32_t)entry);
    return SYN_OK;
}

/* Add up the pieces that came, in the order of the ranks. */
static enum syn_status add_pieces(struct split *split, const struct syn_contribution *in,
                                  size_t own_bytes, struct syn_outcome *out)
{
    const struct syn_group *group = split->setup.group;
    struct syn_packet_about about = about_pieces(split, in);
    enum syn_status status = SYN_OK;
    for (size_t peer = 0; peer < group->workers && status == SYN_OK; peer++) {
        bool is_own = peer == group->rank;
        const uint8_t *bytes = (is_own ? split->going : split->coming) + peer * split->piece_room;
        size_t count = is_own ? own_bytes : split->requests[peer].count;
        struct syn_packet_content content;
        status = syn_packet_decode(&about, bytes, count, peer, &split->came, &content);
        if (status == SYN_OK && content.is_nonfinite)
            status = note_bad(split, in, group->rank, content.nonfinite_entry, peer, out);
        if (status == SYN_OK)
            status = check_entries(split, in, &split->came, group->rank, peer);
        if (status == SYN_OK)
            accumulate(split, &split->came);
    }
    collect(split, about.size);
    return status;
}

/* Keep the largest sums, and say what they are. Returns the bytes of this owner's packet. */
static size_t keep_largest(struct split *split, const struct syn_contribution *in,
                           struct syn_outcome *out)
{
    size_t rank = split->setup.group->rank;
    struct syn_packet_about about = about_kept(split, in, rank);
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
    return encode(split, &about, split->sums, 0, rank, &split->kept[rank], split->kept_packet,
                  &out->dropped);
}

/* Second message: every owner's sums to everybody. */
static enum syn_status allgather_sums(struct split *split, size_t bytes)
{
    const struct syn_group *group = split->setup.group;
    enum syn_status status = receive_all(split, split->gathered, split->kept_room);
    for (size_t i = 1; i < group->workers && status == SYN_OK; i++)
        status = send(split, (group->rank + i) % group->workers, split->kept_packet, bytes);
    return finish(split, status);
}

static enum syn_status decode_sums(struct split *split, const struct syn_contribution *in,
                                   struct syn_outcome *out)
{
    const struct syn_group *group = split->setup.group;
    for (size_t owner = 0; owner < group->workers; owner++) {
        if (owner == group->rank)
            continue;
        struct syn_packet_about about = about_kept(split, in, owner);
        struct syn_packet_content content;
        SYN_TRY(syn_packet_decode(&about, split->gathered + owner * split->kept_room,
                                  split->requests[owner].count, owner, &split->kept[owner],
                                  &content));
        if (content.is_nonfinite)
            SYN_TRY(note_bad(split, in, owner, content.nonfinite_entry, owner, out));
        SYN_TRY(check_entries(split, in, &split->kept[owner], owner, owner));
    }
    return SYN_OK;
}

/* All owners' sums as one sorted list: the blocks in their order, each from its owner's list. */
static void join(struct split *split, size_t size, struct syn_list *merged)
{
    size_t workers = split->setup.group->workers;
    memset(split->next, 0, workers * sizeof *split->next);
    merged->count = 0;
    for (size_t first = 0; first < size; first += SYN_OWNED_BLOCK) {
        struct syn_owned place = syn_owner_of((uint32_t)first, workers);
        const struct syn_list *kept = &split->kept[place.owner];
        size_t *next = &split->next[place.owner];
        for (; *next < kept->count && kept->index[*next] - place.local < SYN_OWNED_BLOCK; ++*next)
            append(merged, (uint32_t)first + kept->index[*next] - place.local, kept->value[*next]);
    }
}

/* What of this worker's own list the result lacks, as it was sent: rounding has gone back
 * already. */
static void take_back_absent(struct split *split, struct syn_outcome *out)
{
    size_t workers = split->setup.group->workers;
    for (size_t owner = 0; owner < workers; owner++) {
        const struct syn_list *own = &split->pieces[owner];
        const struct syn_list *kept = &split->kept[owner];
        size_t j = 0;
        for (size_t i = 0; i < own->count; i++) {
            while (j < kept->count && kept->index[j] < own->index[i])
                j++;
            if (j == kept->count || kept->index[j] != own->index[i])
                append(&out->dropped, (uint32_t)syn_owned_entry(owner, own->index[i], workers),
                       own->value[i]);
        }
    }
}

static enum syn_status run(void *state, const struct syn_contribution *in, struct syn_outcome *out)
{
    struct split *split = state;
    size_t own_bytes = 0;
    out->is_nonfinite = false;
    out->dropped.count = 0;
    out->merged.count = 0;
    cut(split, in);
    SYN_TRY(send_pieces(split, in, out, &own_bytes));
    SYN_TRY(add_pieces(split, in, own_bytes, out));
    SYN_TRY(allgather_sums(split, keep_largest(split, in, out)));
    SYN_TRY(decode_sums(split, in, out));
    if (out->is_nonfinite)
        return SYN_OK;
    take_back_absent(split, out);
    join(split, in->about.size, &out->merged);
    syn_list_drop_zeros(&out->merged); /* what was rounded to nothing */
    return SYN_OK;
}

const struct syn_exchange_type syn_exchange_split = {
    .part = {"split",
             "each owner adds up its piece of all lists and sends the largest sums to all"},
    .merges_on_the_way = true,
    .sees_own_merges = true,
    .encodes_pieces = true,
    .theory = theory,
    .merged_most = merged_most,
    .dropped_most = dropped_most,
    .open = open_state,
    .run = run,
    .vacate = vacate,
    .close = close_state,
};

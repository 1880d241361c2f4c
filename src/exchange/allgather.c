/* Every worker's list to every worker: the exchange of topk and strom. All packets of a step are
 * sent at once, each worker beginning with its right neighbour so that no receiver is flooded; one
 * latency instead of the P - 1 of a ring, for the same bytes.
 *
 * The lists are added in the order of the ranks, so all P received packets must be in memory at the
 * same time. A packet that is longer than 1/P of a quarter of a model (at the high densities of a
 * warm-up) is therefore only announced by its head. Such packets then travel around the ring one
 * after another, in the order of the ranks, in fragments that are passed on while the next one
 * arrives: the same bytes over every link, and one packet in memory. */
#include "exchange/exchange.h"

#include <stdlib.h>

#include "base/memory.h"
#include "exchange/post.h"
#include "exchange/sum.h"

#define FRAGMENT    ((size_t)1 << 16) /* bytes of a long packet passed on at a time */
#define LEAST_SHORT ((size_t)4096)    /* bytes not worth a second message */

struct allgather {
    struct syn_group *group;
    size_t short_room; /* bytes of the longest packet that is sent at once */
    size_t long_room;  /* bytes of the longest possible packet */
    uint8_t *packets;  /* [workers][short_room], received: packets or their heads */
    uint8_t *passing;  /* [long_room] the long packet under way */
    struct syn_post post;
    struct syn_list room;   /* entries of one list, or of short ones together */
    struct syn_list *lists; /* [workers] parts of that room */
    struct syn_sum sum;
};

static size_t larger(size_t a, size_t b)
{
    return a > b ? a : b;
}

/* Bytes of the longest packet that is sent at once. */
static size_t at_once(size_t size, size_t workers)
{
    size_t part = larger(size / workers, LEAST_SHORT);
    return (part + SYN_ALIGNMENT - 1) / SYN_ALIGNMENT * SYN_ALIGNMENT;
}

static size_t fragments_in(size_t bytes)
{
    return (bytes + FRAGMENT - 1) / FRAGMENT;
}

static size_t fragments_of(size_t size, size_t workers, size_t packet_bytes)
{
    return packet_bytes > at_once(size, workers) ? fragments_in(packet_bytes) : 0;
}

static double theory(const struct syn_exchange_setup *setup, size_t packet_bytes)
{
    return (double)((setup->group->workers - 1) * packet_bytes);
}

/* Lists with at most this many entries together are added in windows; longer ones in an array of
 * the whole space, which is then no larger than their sum may be. */
static size_t together_most(size_t size)
{
    return size / 8;
}

static size_t merged_most(const struct syn_exchange_setup *setup)
{
    size_t most = together_most(setup->size);
    return setup->limit <= most / setup->group->workers ? setup->limit * setup->group->workers
                                                        : setup->size;
}

static size_t dropped_most(const struct syn_exchange_setup *setup)
{
    (void)setup;
    return 0;
}

static void close_state(void *state)
{
    struct allgather *all = state;
    if (!all)
        return;
    free(all->packets);
    free(all->passing);
    syn_post_close(&all->post);
    free(all->lists);
    syn_list_close(&all->room);
    syn_sum_close(&all->sum);
    free(all);
}

static enum syn_status allocate(struct allgather *all, const struct syn_exchange_setup *setup)
{
    size_t workers = setup->group->workers;
    all->group = setup->group;
    all->long_room = syn_packet_bound(setup->values, setup->indices, setup->limit, setup->size);
    size_t part = at_once(setup->size, workers);
    all->short_room = all->long_room < part ? all->long_room : part;
    all->short_room = (all->short_room + SYN_ALIGNMENT - 1) / SYN_ALIGNMENT * SYN_ALIGNMENT;
    SYN_TRY(syn_reserve(workers, all->short_room, &all->packets));
    SYN_TRY(syn_reserve(1, all->long_room, &all->passing));
    SYN_TRY(syn_post_open(setup->group, &all->post));
    SYN_TRY(syn_allocate(workers, sizeof *all->lists, &all->lists));
    SYN_TRY(syn_sum_open(&all->sum, workers));
    return syn_list_open(&all->room, larger(setup->limit, together_most(setup->size)));
}

static enum syn_status open_state(const struct syn_exchange_setup *setup, void **state)
{
    struct allgather *all;
    SYN_TRY(syn_allocate(1, sizeof *all, &all));
    enum syn_status status = allocate(all, setup);
    if (status != SYN_OK) {
        close_state(all);
        return status;
    }
    *state = all;
    return SYN_OK;
}

static void vacate(void *state)
{
    struct allgather *all = state;
    syn_vacate(all->packets, all->group->workers, all->short_room);
    syn_vacate(all->passing, 1, all->long_room);
    syn_list_vacate(&all->room);
}

/* Send every packet, or its head if it is long, to every worker. */
static enum syn_status swap_all(struct allgather *all, const struct syn_contribution *in)
{
    struct syn_post *post = &all->post;
    size_t going = in->packet_bytes <= all->short_room ? in->packet_bytes : SYN_PACKET_HEAD;
    enum syn_status status =
        syn_post_begin(post, syn_everyone_rounds, 0, all->packets, all->short_room);
    for (size_t i = 0; i < post->round.send.count && status == SYN_OK; i++)
        status = syn_post_send(post, syn_post_peer(post, i), in->packet, going);
    return syn_post_finish(post, status);
}

/* One worker's packet. */
struct received {
    size_t peer;
    const uint8_t *bytes; /* what has been received of it: all, or only its head */
    size_t here;
    struct syn_packet_claim claim;
};

static struct received packet_of(const struct allgather *all, const struct syn_contribution *in,
                                 size_t peer)
{
    bool is_own = peer == all->group->rank;
    struct received packet = {
        .peer = peer,
        .bytes = is_own ? in->packet : all->packets + peer * all->short_room,
        .here = is_own ? in->packet_bytes : syn_post_came(&all->post, peer),
    };
    packet.claim = syn_packet_claims(packet.bytes, packet.here);
    return packet;
}

static bool is_long(const struct allgather *all, const struct received *packet)
{
    bool is_own = packet->peer == all->group->rank;
    return is_own ? packet->here > all->short_room
                  : packet->here == SYN_PACKET_HEAD && packet->claim.bytes > SYN_PACKET_HEAD;
}

/* Receive the next fragment from the left and send the previous one to the right, or only one of
 * the two. */
static enum syn_status pass_fragment(struct syn_group *group, const struct syn_round *round,
                                     uint8_t *coming, size_t coming_bytes, const uint8_t *going,
                                     size_t going_bytes)
{
    struct syn_request requests[2] = {0};
    enum syn_status status = SYN_OK;
    if (coming_bytes > 0)
        SYN_TRY(syn_group_receive(group, round->receive.first, coming, coming_bytes, &requests[0]));
    if (going_bytes > 0)
        status = syn_group_send(group, round->send.first, going, going_bytes, &requests[1]);
    if (status != SYN_OK) /* the wait below then gives up the receive */
        syn_group_abandon(group, status, syn_error_text());
    SYN_TRY(syn_group_wait(group, requests, 2));
    if (coming_bytes > 0 && requests[0].count != coming_bytes)
        return syn_fail(SYN_FORMAT, "packet fragment has %zu bytes; expected %zu",
                        requests[0].count, coming_bytes);
    return SYN_OK;
}

static size_t next_fragment(size_t left)
{
    return left < FRAGMENT ? left : FRAGMENT;
}

/* A long packet travels from its worker around the ring to that worker's left neighbour. */
static enum syn_status pass_on(struct allgather *all, struct received *packet)
{
    struct syn_group *group = all->group;
    size_t total = packet->claim.bytes;
    if (total <= all->short_room || total > all->long_room)
        return syn_fail(SYN_FORMAT,
                        "packet from worker %zu: its head announces %zu bytes; expected %zu to %zu",
                        packet->peer, total, all->short_room + 1, all->long_room);
    struct syn_members members = {.workers = group->workers, .fragments = fragments_in(total)};
    const uint8_t *bytes = packet->peer == group->rank ? packet->bytes : all->passing;
    size_t came = 0, went = 0;
    struct syn_round round = {0};
    for (size_t n = 0; syn_passing_round(members, group->rank, packet->peer, n, &round); n++) {
        size_t coming = round.receive.count ? next_fragment(total - came) : 0;
        size_t going = round.send.count ? next_fragment(total - went) : 0;
        SYN_TRY(pass_fragment(group, &round, all->passing + came, coming, bytes + went, going));
        came += coming;
        went += going;
        round = (struct syn_round){0};
    }
    packet->bytes = bytes;
    packet->here = total;
    return SYN_OK;
}

/* Number of entries of all lists together, according to their heads, each capped at the limit. */
static size_t count_entries(const struct allgather *all, const struct syn_contribution *in)
{
    size_t entries = 0;
    for (size_t peer = 0; peer < all->group->workers; peer++) {
        size_t own = packet_of(all, in, peer).claim.entries;
        entries += own < in->about.limit ? own : in->about.limit;
    }
    return entries;
}

/* Decode a worker's packet, which may still have to be received, into a list after the others. */
static enum syn_status fetch(struct allgather *all, const struct syn_contribution *in, size_t peer,
                             size_t used, struct syn_outcome *out)
{
    struct syn_packet_content content;
    struct syn_list *list = &all->lists[peer];
    struct received packet = packet_of(all, in, peer);
    if (is_long(all, &packet))
        SYN_TRY(pass_on(all, &packet));
    *list = (struct syn_list){.index = all->room.index + used,
                              .value = all->room.value + used,
                              .capacity = all->room.capacity - used};
    SYN_TRY(syn_packet_decode(&in->about, packet.bytes, packet.here, peer, list, &content));
    if (content.is_nonfinite)
        syn_outcome_mark_nonfinite(out, content.nonfinite_entry);
    return SYN_OK;
}

static enum syn_status run(void *state, const struct syn_contribution *in, struct syn_outcome *out)
{
    struct allgather *all = state;
    size_t workers = all->group->workers;
    size_t size = in->about.size;
    out->is_nonfinite = false;
    out->dropped.count = 0;
    out->merged.count = 0;
    SYN_TRY(swap_all(all, in));
    bool is_dense = count_entries(all, in) > together_most(size);
    if (is_dense)
        syn_sum_dense_begin(&out->merged, size);
    size_t used = 0;
    for (size_t peer = 0; peer < workers; peer++) {
        SYN_TRY(fetch(all, in, peer, used, out));
        if (is_dense)
            syn_sum_dense_add(&out->merged, &all->lists[peer]);
        else
            used += all->lists[peer].count;
    }
    if (is_dense)
        syn_sum_dense_collect(&out->merged, size);
    else
        syn_sum_lists(&all->sum, all->lists, workers, &out->merged);
    size_t bad = syn_first_not_finite(out->merged.value, out->merged.count);
    if (bad < out->merged.count)
        syn_outcome_mark_nonfinite(out, out->merged.index[bad]);
    return SYN_OK;
}

const struct syn_exchange_type syn_exchange_allgather = {
    .part = {"allgather", "every worker's list to every worker, then added in rank order"},
    .rounds = syn_everyone_rounds,
    .fragments = fragments_of,
    .theory = theory,
    .merged_most = merged_most,
    .dropped_most = dropped_most,
    .open = open_state,
    .run = run,
    .vacate = vacate,
    .close = close_state,
};

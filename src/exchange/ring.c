/* Dense all-reduce on a ring: reduce-scatter, then all-gather, 2(P-1)/P of the array each way per
 * worker, which is the least there can be. The array is cut into P chunks; chunk c travels the ring
 * once to be summed, always in the order of the ranks c+1, c+2, ..., c, and once more to be told to
 * everybody, so that all have the bits of its owner.
 *
 * The gradient is never copied: the first hop sends from it, and each sum is written straight to
 * the result.
 *
 * Chunks travel in pieces that transports send without asking the receiver first. A question waits
 * behind the data that flows the same way: with two workers, whose data and questions share one
 * connection, asking made a ring take twice as long.
 *
 * Values of 16 bits round at every hop. A worker rounds each chunk exactly once, either when it
 * passes its partial sum on or as the owner of the whole sum; the difference goes back to that
 * worker. */
#include "exchange/ring.h"

#include <stdlib.h>

#include "base/memory.h"
#include "tensor/kernels.h"

#define PIECE_BYTES ((size_t)500000)
#define WINDOW      8 /* pieces under way at once */

struct syn_ring {
    struct syn_group *group;
    const struct syn_kernels *kernels;
    bool is_exact;
    void *coming; /* [largest chunk] from the left, float or half */
    void *going;  /* [largest chunk] to the right, half; unused if exact */
};

struct syn_chunk syn_chunk_of(size_t size, size_t parts, size_t number)
{
    number %= parts;
    /* In 64 bits: size * number may pass 2^32 on small machines. */
    uint64_t first = (uint64_t)size * number / parts;
    uint64_t end = (uint64_t)size * (number + 1) / parts;
    return (struct syn_chunk){(size_t)first, (size_t)(end - first)};
}

static struct syn_chunk chunk_of(const struct syn_ring *ring, size_t size, size_t number)
{
    return syn_chunk_of(size, ring->group->workers, number);
}

struct syn_chunk syn_ring_own(const struct syn_ring *ring, size_t size)
{
    return chunk_of(ring, size, ring->group->rank + 1);
}

enum syn_status syn_ring_open(struct syn_group *group, size_t size, bool is_exact,
                              struct syn_ring **ring)
{
    size_t largest = size / group->workers + 1;
    struct syn_ring *made;
    SYN_TRY(syn_allocate(1, sizeof *made, &made));
    made->group = group;
    made->kernels = syn_kernels();
    made->is_exact = is_exact;
    enum syn_status status = syn_allocate(largest, sizeof(float), &made->coming);
    if (status == SYN_OK)
        status = syn_allocate(is_exact ? 0 : largest, sizeof(float), &made->going);
    if (status != SYN_OK) {
        syn_ring_close(made);
        return status;
    }
    *ring = made;
    return SYN_OK;
}

void syn_ring_close(struct syn_ring *ring)
{
    if (!ring)
        return;
    free(ring->coming);
    free(ring->going);
    free(ring);
}

/* Piece number i of so many bytes; the first one may be empty. */
static struct syn_chunk piece_of(size_t bytes, size_t i)
{
    size_t first = i * PIECE_BYTES;
    size_t left = bytes > first ? bytes - first : 0;
    return (struct syn_chunk){first, left < PIECE_BYTES ? left : PIECE_BYTES};
}

/* A piece on its way to the right and one from the left. */
struct pair {
    struct syn_request coming;
    struct syn_request going;
};

static enum syn_status start(struct syn_ring *ring, struct pair *pair, const uint8_t *going,
                             struct syn_chunk go, uint8_t *coming, struct syn_chunk come)
{
    struct syn_group *group = ring->group;
    size_t right = (group->rank + 1) % group->workers;
    size_t left = (group->rank + group->workers - 1) % group->workers;
    if (come.count > 0 || come.first == 0)
        SYN_TRY(syn_group_receive(group, left, coming + come.first, come.count, &pair->coming));
    if (go.count > 0 || go.first == 0)
        SYN_TRY(syn_group_send(group, right, going + go.first, go.count, &pair->going));
    return SYN_OK;
}

static enum syn_status finish(struct syn_ring *ring, struct pair *pair, struct syn_chunk come)
{
    SYN_TRY(syn_group_wait(ring->group, &pair->coming, 1));
    SYN_TRY(syn_group_wait(ring->group, &pair->going, 1));
    if (pair->coming.count == come.count)
        return SYN_OK;
    return syn_fail(SYN_FORMAT, "worker %zu sent %zu bytes of a chunk; expected %zu",
                    pair->coming.peer, pair->coming.count, come.count);
}

/* Send to the right and receive from the left, at once. */
static enum syn_status swap(struct syn_ring *ring, const void *going, size_t going_bytes,
                            void *coming, size_t coming_bytes)
{
    struct pair pairs[WINDOW];
    size_t longer = going_bytes > coming_bytes ? going_bytes : coming_bytes;
    size_t pieces = longer > 0 ? (longer + PIECE_BYTES - 1) / PIECE_BYTES : 1;
    enum syn_status status = SYN_OK;
    memset(pairs, 0, sizeof pairs);
    for (size_t i = 0; i < pieces + WINDOW && status == SYN_OK; i++) {
        struct pair *pair = &pairs[i % WINDOW];
        if (i >= WINDOW && i - WINDOW < pieces)
            status = finish(ring, pair, piece_of(coming_bytes, i - WINDOW));
        if (i < pieces && status == SYN_OK) {
            memset(pair, 0, sizeof *pair);
            status = start(ring, pair, going, piece_of(going_bytes, i), coming,
                           piece_of(coming_bytes, i));
        }
    }
    if (status == SYN_OK)
        return SYN_OK;
    syn_group_abandon(ring->group, status, syn_error_text()); /* so that waiting gives all up */
    for (size_t i = 0; i < WINDOW; i++) {
        syn_group_wait(ring->group, &pairs[i].coming, 1);
        syn_group_wait(ring->group, &pairs[i].going, 1);
    }
    return syn_fail_again(ring->group->broken, ring->group->cause);
}

/* Round x to halves, and keep what that takes away: dropped = x - half. */
static void round_chunk(struct syn_ring *ring, const float *x, size_t count, float *dropped)
{
    uint16_t *half = ring->going;
    ring->kernels->to_half(half, x, count);
    ring->kernels->from_half(dropped, half, count);
    for (size_t i = 0; i < count; i++)
        dropped[i] = x[i] - dropped[i];
}

/* Step s: pass on the sum of chunk rank - s, add what comes of chunk rank - s - 1. */
enum syn_status syn_ring_reduce(struct syn_ring *ring, const float *in, float *out, float *dropped,
                                size_t size)
{
    size_t rank = ring->group->rank;
    size_t workers = ring->group->workers;
    for (size_t s = 0; s + 1 < workers; s++) {
        struct syn_chunk go = chunk_of(ring, size, rank + workers - s);
        struct syn_chunk come = chunk_of(ring, size, rank + 2 * workers - s - 1);
        const float *sum = (s == 0 ? in : out) + go.first;
        float *result = out + come.first;
        if (ring->is_exact) {
            SYN_TRY(swap(ring, sum, go.count * sizeof(float), ring->coming,
                         come.count * sizeof(float)));
            ring->kernels->add(result, ring->coming, in + come.first, come.count);
        } else {
            round_chunk(ring, sum, go.count, dropped + go.first);
            SYN_TRY(swap(ring, ring->going, go.count * sizeof(uint16_t), ring->coming,
                         come.count * sizeof(uint16_t)));
            ring->kernels->from_half(result, ring->coming, come.count);
            ring->kernels->add(result, result, in + come.first, come.count);
        }
    }
    if (workers == 1)
        memcpy(out, in, size * sizeof *out);
    return SYN_OK;
}

/* Step s: tell chunk rank + 1 - s, hear chunk rank - s. */
enum syn_status syn_ring_tell(struct syn_ring *ring, float *data, float *dropped, size_t size)
{
    size_t rank = ring->group->rank;
    size_t workers = ring->group->workers;
    struct syn_chunk own = syn_ring_own(ring, size);
    if (!ring->is_exact) {
        round_chunk(ring, data + own.first, own.count, dropped + own.first);
        ring->kernels->from_half(data + own.first, ring->going, own.count);
    }
    for (size_t s = 0; s + 1 < workers; s++) {
        struct syn_chunk go = chunk_of(ring, size, rank + workers + 1 - s);
        struct syn_chunk come = chunk_of(ring, size, rank + workers - s);
        if (ring->is_exact) {
            SYN_TRY(swap(ring, data + go.first, go.count * sizeof(float), data + come.first,
                         come.count * sizeof(float)));
        } else {
            SYN_TRY(swap(ring, ring->going, go.count * sizeof(uint16_t), ring->coming,
                         come.count * sizeof(uint16_t)));
            ring->kernels->from_half(data + come.first, ring->coming, come.count);
            void *heard = ring->coming; /* travels on as it came */
            ring->coming = ring->going;
            ring->going = heard;
        }
    }
    return SYN_OK;
}

static double theory(const struct syn_exchange_setup *setup, size_t packet_bytes)
{
    (void)packet_bytes;
    double workers = (double)setup->group->workers;
    return 2 * (workers - 1) / workers * (double)setup->values->measure(setup->size);
}

static enum syn_status open_state(const struct syn_exchange_setup *setup, void **state)
{
    struct syn_ring *ring;
    SYN_TRY(syn_ring_open(setup->group, setup->size, setup->values->is_exact, &ring));
    *state = ring;
    return SYN_OK;
}

static enum syn_status run(void *state, const struct syn_contribution *in, struct syn_outcome *out)
{
    struct syn_ring *ring = state;
    size_t size = in->about.size;
    out->is_poisoned = false;
    SYN_TRY(syn_ring_reduce(ring, in->dense, out->dense, out->dense_dropped, size));
    SYN_TRY(syn_ring_tell(ring, out->dense, out->dense_dropped, size));
    /* NaN and infinity spread through sums by themselves; everybody finds the same ones. */
    size_t bad = syn_first_not_finite(out->dense, size);
    if (bad < size)
        syn_outcome_poison(out, (uint32_t)bad);
    return SYN_OK;
}

static void close_state(void *state)
{
    syn_ring_close(state);
}

const struct syn_exchange_type syn_exchange_ring = {
    .part = {"ring", "dense all-reduce: reduce-scatter and all-gather around a ring"},
    .is_dense = true,
    .theory = theory,
    .open = open_state,
    .run = run,
    .close = close_state,
};

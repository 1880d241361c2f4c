/* Dense all-reduce on a ring: reduce-scatter, then all-gather, 2(P-1)/P of the array each way per
 * worker, which is optimal. The array is divided into P chunks; chunk c travels around the ring
 * once to be summed, always in the order of the ranks c+1, c+2, ..., c, and once more to be
 * distributed, so that all workers have the bits of its owner.
 *
 * The gradient is never copied: the first hop sends from it, and each sum is written directly to
 * the result.
 *
 * Values of fewer bits are rounded at every hop. A worker rounds each chunk exactly once, either
 * when it passes its partial sum on or as the owner of the whole sum; the difference goes back to
 * that worker. That chunk of the gradient has already been read by then, so the difference may
 * overwrite it. */
#include "exchange/ring.h"

#include <stdlib.h>

#include "base/memory.h"
#include "tensor/kernels.h"

struct syn_ring {
    struct syn_group *group;
    const struct syn_kernels *kernels;
    const struct syn_value_type *values;
    void *coming;    /* [largest chunk] from the left, encoded */
    void *going;     /* [largest chunk] to the right, encoded; unused if exact */
    float *rounding; /* [largest chunk] unused if exact */
};

struct syn_chunk syn_ring_own(const struct syn_ring *ring, size_t size)
{
    return syn_chunk_of(size, ring->group->workers, ring->group->rank + 1);
}

static enum syn_status allocate(struct syn_ring *ring, size_t size)
{
    size_t largest = size / ring->group->workers + 1;
    size_t bytes = ring->values ? ring->values->measure(largest) : largest * sizeof(float);
    bool is_exact = ring->values && ring->values->is_exact;
    SYN_TRY(syn_allocate(1, bytes, &ring->coming));
    SYN_TRY(syn_allocate(is_exact ? 0 : 1, bytes, &ring->going));
    return syn_allocate(is_exact ? 0 : largest, sizeof(float), &ring->rounding);
}

enum syn_status syn_ring_open(struct syn_group *group, size_t size,
                              const struct syn_value_type *values, struct syn_ring **ring)
{
    struct syn_ring *made;
    SYN_TRY(syn_allocate(1, sizeof *made, &made));
    made->group = group;
    made->kernels = syn_kernels();
    made->values = values;
    enum syn_status status = allocate(made, size);
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
    free(ring->rounding);
    free(ring);
}

void syn_ring_use(struct syn_ring *ring, const struct syn_value_type *values)
{
    ring->values = values;
}

/* What is sent and received in one round. */
struct hop {
    size_t right;
    size_t left;
    struct syn_chunk go;
    struct syn_chunk come;
};

/* The hop of round `number` for an array; false if this half of the ring is over. */
static bool find_hop(const struct syn_ring *ring, size_t size, size_t number, bool is_collecting,
                     struct hop *hop)
{
    size_t rank = ring->group->rank;
    size_t workers = ring->group->workers;
    size_t part = syn_ring_part(workers, rank, number);
    struct syn_round round = {0};
    if (!syn_ring_rounds((struct syn_members){.workers = workers}, rank, number, &round) ||
        round.is_collecting != is_collecting)
        return false;
    *hop = (struct hop){.right = round.send.first,
                        .left = round.receive.first,
                        .go = syn_chunk_of(size, workers, part),
                        .come = syn_chunk_of(size, workers, part + workers - 1)};
    return true;
}

/* Send to the right and receive from the left, at once. */
static enum syn_status swap(struct syn_ring *ring, const struct hop *hop, const void *going,
                            void *coming)
{
    size_t expected = ring->values->measure(hop->come.count);
    size_t came;
    SYN_TRY(syn_exchange_swap(ring->group, hop->right, going, ring->values->measure(hop->go.count),
                              hop->left, coming, expected, &came));
    if (came != expected)
        return syn_fail(SYN_FORMAT, "worker %zu sent %zu bytes of a chunk; expected %zu", hop->left,
                        came, expected);
    return SYN_OK;
}

/* Encode x, and keep what rounding removes: dropped = x - what receivers decode, which is left in
 * `rounding`. */
static void round_chunk(struct syn_ring *ring, const float *x, size_t count, float *dropped)
{
    memcpy(ring->rounding, x, count * sizeof *x);
    ring->values->encode(ring->kernels, ring->rounding, count, 0, ring->going);
    for (size_t i = 0; i < count; i++)
        dropped[i] = x[i] - ring->rounding[i];
}

static void decode_chunk(const struct syn_ring *ring, const void *bytes, size_t count, float *x)
{
    ring->values->decode(ring->kernels, bytes, count, 0, x);
}

enum syn_status syn_ring_reduce(struct syn_ring *ring, const float *in, float *out, float *dropped,
                                size_t size)
{
    struct hop hop;
    for (size_t number = 0; find_hop(ring, size, number, false, &hop); number++) {
        const float *sum = (number == 0 ? in : out) + hop.go.first;
        float *result = out + hop.come.first;
        const float *own = in + hop.come.first;
        if (ring->values->is_exact) {
            SYN_TRY(swap(ring, &hop, sum, ring->coming));
            ring->kernels->add(result, ring->coming, own, hop.come.count);
        } else {
            round_chunk(ring, sum, hop.go.count, dropped + hop.go.first);
            SYN_TRY(swap(ring, &hop, ring->going, ring->coming));
            decode_chunk(ring, ring->coming, hop.come.count, ring->rounding);
            ring->kernels->add(result, ring->rounding, own, hop.come.count);
        }
    }
    if (ring->group->workers == 1)
        memcpy(out, in, size * sizeof *out);
    return SYN_OK;
}

enum syn_status syn_ring_allgather(struct syn_ring *ring, float *data, float *dropped, size_t size)
{
    struct syn_chunk own = syn_ring_own(ring, size);
    size_t begin = ring->group->workers - 1; /* the rounds of the reduce-scatter come before */
    struct hop hop;
    if (!ring->values->is_exact) {
        round_chunk(ring, data + own.first, own.count, dropped + own.first);
        memcpy(data + own.first, ring->rounding, own.count * sizeof *data);
    }
    for (size_t number = begin; find_hop(ring, size, number, true, &hop); number++) {
        if (ring->values->is_exact) {
            SYN_TRY(swap(ring, &hop, data + hop.go.first, data + hop.come.first));
        } else {
            SYN_TRY(swap(ring, &hop, ring->going, ring->coming));
            decode_chunk(ring, ring->coming, hop.come.count, data + hop.come.first);
            void *received = ring->coming; /* is passed on as received */
            ring->coming = ring->going;
            ring->going = received;
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
    SYN_TRY(syn_ring_open(setup->group, setup->size, setup->values, &ring));
    *state = ring;
    return SYN_OK;
}

enum syn_status syn_ring_run(struct syn_ring *ring, const struct syn_contribution *in,
                             struct syn_outcome *out)
{
    size_t size = in->about.size;
    out->is_nonfinite = false;
    SYN_TRY(syn_ring_reduce(ring, in->dense, out->dense, out->dense_dropped, size));
    SYN_TRY(syn_ring_allgather(ring, out->dense, out->dense_dropped, size));
    /* NaN and infinity propagate through sums; all workers find the same ones. */
    size_t bad = syn_first_not_finite(out->dense, size);
    if (bad < size)
        syn_outcome_mark_nonfinite(out, (uint32_t)bad);
    return SYN_OK;
}

static struct syn_chunk own(const void *state, size_t size)
{
    return syn_ring_own(state, size);
}

/* The sum of the own chunk is not rounded, because it is not sent to anyone. */
static enum syn_status reduce(void *state, const struct syn_contribution *in,
                              struct syn_outcome *out)
{
    size_t size = in->about.size;
    struct syn_chunk chunk = syn_ring_own(state, size);
    out->is_nonfinite = false;
    SYN_TRY(syn_ring_reduce(state, in->dense, out->dense, out->dense_dropped, size));
    if (out->dense_dropped)
        memset(out->dense_dropped + chunk.first, 0, chunk.count * sizeof *out->dense_dropped);
    return SYN_OK;
}

static enum syn_status collect(void *state, float *data, size_t size)
{
    return syn_ring_allgather(state, data, NULL, size);
}

static enum syn_status run(void *state, const struct syn_contribution *in, struct syn_outcome *out)
{
    return syn_ring_run(state, in, out);
}

static void close_state(void *state)
{
    syn_ring_close(state);
}

const struct syn_exchange_type syn_exchange_ring = {
    .part = {"ring", "dense all-reduce: reduce-scatter and all-gather around a ring"},
    .is_dense = true,
    .rounds = syn_ring_rounds,
    .theory = theory,
    .open = open_state,
    .run = run,
    .own = own,
    .reduce = reduce,
    .collect = collect,
    .close = close_state,
};

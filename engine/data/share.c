/* Shares of the workers. Entries are dealt like cards (worker w gets w, w + W, ...), so that
 * step for step all workers together see what one worker with W times the batch would see.
 *
 * Shares differ by one entry at most. A worker with the smaller share could run out of entries
 * one batch before the others; its last full batch then leaves one entry for the batch after
 * it. */
#include "engine/data/share.h"

#include <assert.h>

static size_t divide_up(size_t a, size_t b)
{
    return a / b + (a % b != 0);
}

static size_t smaller(size_t a, size_t b)
{
    return a < b ? a : b;
}

static size_t entries(struct syn_share share)
{
    return share.count / share.workers + (share.worker < share.count % share.workers);
}

uint64_t syn_share_batches(struct syn_share share)
{
    return divide_up(divide_up(share.count, share.workers), share.batch);
}

/* Where batch number index begins: batches are full as long as each later one has at least one
 * entry. Only with batches of one can there be fewer entries than batches; then the last is
 * empty. */
static size_t begin(struct syn_share share, size_t index)
{
    const size_t batches = (size_t)syn_share_batches(share);
    const size_t all = entries(share);
    const size_t to_come = all < batches ? 0 : batches - index;
    return smaller(index * share.batch, all - to_come);
}

struct syn_slice syn_share_slice(struct syn_share share, uint64_t index)
{
    assert(index < syn_share_batches(share));
    size_t first = begin(share, (size_t)index);
    return (struct syn_slice){first, begin(share, (size_t)index + 1) - first};
}

struct syn_slice syn_share_column(struct syn_share share, size_t column)
{
    const size_t columns = share.batch * share.workers;
    const size_t number = share.worker * share.batch + column;
    const size_t length = share.count / columns;
    const size_t longer = share.count % columns; /* the first so many columns have one more */
    assert(column < share.batch);
    return (struct syn_slice){number * length + smaller(number, longer),
                              length + (number < longer)};
}

size_t syn_share_longest_column(struct syn_share share)
{
    return divide_up(share.count, share.batch * share.workers);
}

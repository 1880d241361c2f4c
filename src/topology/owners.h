/* Which worker owns which entry, for exchanges that send every entry to its owner: pure arithmetic
 * on an entry's number and P.
 *
 * Owners hold blocks of 256 entries in turn, in an order that changes from one round of P blocks to
 * the next. Contiguous equal parts of a model would load owners very unevenly, and boundaries that
 * follow the load would have to be agreed on again and again; this is even for any model and needs
 * no agreement. Each owner numbers its own entries 0, 1, 2, ..., in the same order. */
#ifndef SYN_TOPOLOGY_OWNERS_H
#define SYN_TOPOLOGY_OWNERS_H

#include <assert.h>
#include <stddef.h>
#include <stdint.h>

enum { SYN_OWNED_BLOCK = 256 };

/* An entry as its owner numbers it. */
struct syn_owned {
    size_t owner;
    uint32_t local;
};

/* By how much the order of a round is rotated. */
static inline size_t syn_owners_shift(size_t round, size_t workers)
{
    uint64_t x = ((uint64_t)round + 1) * UINT64_C(0x9e3779b97f4a7c15);
    return (size_t)((x ^ x >> 29) >> 32) % workers;
}

static inline struct syn_owned syn_owner_of(uint32_t entry, size_t workers)
{
    assert(workers > 0);
    size_t block = entry / SYN_OWNED_BLOCK;
    size_t round = block / workers;
    return (struct syn_owned){
        .owner = (block % workers + syn_owners_shift(round, workers)) % workers,
        .local = (uint32_t)(round * SYN_OWNED_BLOCK + entry % SYN_OWNED_BLOCK),
    };
}

/* The entry with number `local` at its owner; may be past the end in the last round. */
static inline uint64_t syn_owned_entry(size_t owner, uint32_t local, size_t workers)
{
    size_t round = local / SYN_OWNED_BLOCK;
    size_t turn = (owner + workers - syn_owners_shift(round, workers)) % workers;
    return ((uint64_t)round * workers + turn) * SYN_OWNED_BLOCK + local % SYN_OWNED_BLOCK;
}

/* How many numbers an owner has for a bucket of size entries, the same for all; a few have no
 * entry. */
static inline size_t syn_owned_size(size_t size, size_t workers)
{
    size_t blocks = (size + SYN_OWNED_BLOCK - 1) / SYN_OWNED_BLOCK;
    return (blocks + workers - 1) / workers * SYN_OWNED_BLOCK;
}

#endif

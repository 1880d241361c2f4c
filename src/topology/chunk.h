/* Equal parts of an array and their owners: pure arithmetic on its size and P. */
#ifndef SYN_TOPOLOGY_CHUNK_H
#define SYN_TOPOLOGY_CHUNK_H

#include <assert.h>
#include <stddef.h>
#include <stdint.h>

/* A part of an array that belongs to one member. */
struct syn_chunk {
    size_t first;
    size_t count;
};

/* Part number `number`, modulo `parts`, of an array of size entries that is cut evenly. On a ring,
 * worker r has chunk r + 1; each server has the chunk of its own number. */
static inline struct syn_chunk syn_chunk_of(size_t size, size_t parts, size_t number)
{
    assert(parts > 0);
    number %= parts;
    /* In 64 bits: size * number may exceed 2^32 where size_t has 32 bits. */
    uint64_t first = (uint64_t)size * number / parts;
    uint64_t end = (uint64_t)size * (number + 1) / parts;
    return (struct syn_chunk){(size_t)first, (size_t)(end - first)};
}

#endif

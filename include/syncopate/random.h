/* Random numbers that are the same on every machine: xoshiro256** seeded by splitmix64. */
#ifndef SYNCOPATE_RANDOM_H
#define SYNCOPATE_RANDOM_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Plain data: copy it to save a stream, copy it back to continue from there. */
struct syn_random {
    uint64_t state[4];
};

/* Start stream number `stream` of a seed. Different (seed, stream) pairs give independent
 * streams. */
void syn_random_start(struct syn_random *random, uint64_t seed, uint64_t stream);

/* 64 random bits. */
uint64_t syn_random_bits(struct syn_random *random);

/* Uniform in [0, limit); limit > 0. Without bias. */
uint64_t syn_random_below(struct syn_random *random, uint64_t limit);

/* Uniform in [0, 1), 24 bits. */
float syn_random_unit(struct syn_random *random);

/* Standard normal. */
float syn_random_normal(struct syn_random *random);

/* Fill order with a random permutation of 0 .. count-1 (Fisher-Yates). */
void syn_random_order(struct syn_random *random, uint32_t *order, size_t count);

#ifdef __cplusplus
}
#endif
#endif

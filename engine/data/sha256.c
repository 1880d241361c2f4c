/* SHA-256 as FIPS 180-4 states it, with its names: K constants, W schedule, a to h the working
 * variables. Plain C runs at about the speed of a disk, which is what it waits for. */
#include "engine/data/sha256.h"

#include <stdio.h>
#include <string.h>

/* The first 32 bits of the fractional parts of the cube roots of the first 64 primes. */
static const uint32_t K[64] = {
    0x428a2f98, 0x71374491, 0xb5c0fbcf, 0xe9b5dba5, 0x3956c25b, 0x59f111f1, 0x923f82a4, 0xab1c5ed5,
    0xd807aa98, 0x12835b01, 0x243185be, 0x550c7dc3, 0x72be5d74, 0x80deb1fe, 0x9bdc06a7, 0xc19bf174,
    0xe49b69c1, 0xefbe4786, 0x0fc19dc6, 0x240ca1cc, 0x2de92c6f, 0x4a7484aa, 0x5cb0a9dc, 0x76f988da,
    0x983e5152, 0xa831c66d, 0xb00327c8, 0xbf597fc7, 0xc6e00bf3, 0xd5a79147, 0x06ca6351, 0x14292967,
    0x27b70a85, 0x2e1b2138, 0x4d2c6dfc, 0x53380d13, 0x650a7354, 0x766a0abb, 0x81c2c92e, 0x92722c85,
    0xa2bfe8a1, 0xa81a664b, 0xc24b8b70, 0xc76c51a3, 0xd192e819, 0xd6990624, 0xf40e3585, 0x106aa070,
    0x19a4c116, 0x1e376c08, 0x2748774c, 0x34b0bcb5, 0x391c0cb3, 0x4ed8aa4a, 0x5b9cca4f, 0x682e6ff3,
    0x748f82ee, 0x78a5636f, 0x84c87814, 0x8cc70208, 0x90befffa, 0xa4506ceb, 0xbef9a3f7, 0xc67178f2,
};

static uint32_t rotate_right(uint32_t x, int bits)
{
    return (x >> bits) | (x << (32 - bits));
}

static uint32_t big_endian(const uint8_t *at)
{
    return (uint32_t)at[0] << 24 | (uint32_t)at[1] << 16 | (uint32_t)at[2] << 8 | at[3];
}

static void fill_schedule(uint32_t W[64], const uint8_t block[64])
{
    for (int t = 0; t < 16; t++)
        W[t] = big_endian(block + 4 * t);
    for (int t = 16; t < 64; t++) {
        uint32_t s0 = rotate_right(W[t - 15], 7) ^ rotate_right(W[t - 15], 18) ^ (W[t - 15] >> 3);
        uint32_t s1 = rotate_right(W[t - 2], 17) ^ rotate_right(W[t - 2], 19) ^ (W[t - 2] >> 10);
        W[t] = W[t - 16] + s0 + W[t - 7] + s1;
    }
}

static void compress(uint32_t state[8], const uint8_t block[64])
{
    uint32_t W[64];
    fill_schedule(W, block);
    uint32_t a = state[0], b = state[1], c = state[2], d = state[3];
    uint32_t e = state[4], f = state[5], g = state[6], h = state[7];
    for (int t = 0; t < 64; t++) {
        uint32_t S1 = rotate_right(e, 6) ^ rotate_right(e, 11) ^ rotate_right(e, 25);
        uint32_t choice = (e & f) ^ (~e & g);
        uint32_t T1 = h + S1 + choice + K[t] + W[t];
        uint32_t S0 = rotate_right(a, 2) ^ rotate_right(a, 13) ^ rotate_right(a, 22);
        uint32_t majority = (a & b) ^ (a & c) ^ (b & c);
        h = g, g = f, f = e, e = d + T1;
        d = c, c = b, b = a, a = T1 + S0 + majority;
    }
    const uint32_t last[8] = {a, b, c, d, e, f, g, h};
    for (int i = 0; i < 8; i++)
        state[i] += last[i];
}

void syn_sha256_begin(struct syn_sha256 *sha)
{
    /* The fractional parts of the square roots of the first eight primes. */
    *sha = (struct syn_sha256){.state = {0x6a09e667, 0xbb67ae85, 0x3c6ef372, 0xa54ff53a, 0x510e527f,
                                         0x9b05688c, 0x1f83d9ab, 0x5be0cd19}};
}

void syn_sha256_add(struct syn_sha256 *sha, const void *bytes, size_t count)
{
    const uint8_t *at = bytes;
    size_t used = sha->count % 64;
    sha->count += count;
    if (used > 0) {
        size_t taken = count < 64 - used ? count : 64 - used;
        memcpy(sha->block + used, at, taken);
        at += taken;
        count -= taken;
        if (used + taken < 64)
            return;
        compress(sha->state, sha->block);
    }
    for (; count >= 64; at += 64, count -= 64)
        compress(sha->state, at);
    if (count > 0)
        memcpy(sha->block, at, count);
}

void syn_sha256_end(struct syn_sha256 *sha, char text[SYN_SHA256_TEXT])
{
    static const uint8_t padding[64] = {0x80};
    uint64_t bits = 8 * sha->count;
    size_t used = sha->count % 64;
    syn_sha256_add(sha, padding, used < 56 ? 56 - used : 120 - used);
    uint8_t length[8];
    for (int i = 0; i < 8; i++)
        length[i] = (uint8_t)(bits >> (56 - 8 * i));
    syn_sha256_add(sha, length, sizeof length);
    for (int i = 0; i < 8; i++)
        snprintf(text + (ptrdiff_t)8 * i, 9, "%08x", sha->state[i]);
}

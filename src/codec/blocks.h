/* Values of a few bits, in blocks of 256 that share a scale: what q8, q4 and q2 have in common.
 *
 * A single scale for a whole message would be determined by its largest value, and a model's layers
 * differ by orders of magnitude; a scale per block costs an eighth of a bit per value.
 *
 * A block that contains a non-finite value must not look finite to its receiver. Its scale is then
 * NaN, and its codes mark the non-finite values: these are decoded as NaN, the others as zero. */
#ifndef SYN_CODEC_BLOCKS_H
#define SYN_CODEC_BLOCKS_H

#include <math.h>

#include "codec/codec.h"

enum { SYN_VALUE_BLOCK = 256 };

/* Bytes for count values of that many bits, with that many floats per block. */
static inline size_t syn_blocks_bytes(size_t count, size_t bits, size_t scales)
{
    size_t blocks = (count + SYN_VALUE_BLOCK - 1) / SYN_VALUE_BLOCK;
    return blocks * scales * sizeof(float) + (count * bits + 7) / 8;
}

/* Entries of the block that begins at `at`. */
static inline size_t syn_block_count(size_t count, size_t at)
{
    return count - at < SYN_VALUE_BLOCK ? count - at : SYN_VALUE_BLOCK;
}

/* The largest magnitude of a block, as bits. */
static inline uint32_t syn_block_largest(const float *value, size_t count)
{
    uint32_t largest = 0;
    for (size_t i = 0; i < count; i++) {
        uint32_t magnitude = syn_magnitude(value[i]);
        largest = magnitude > largest ? magnitude : largest;
    }
    return largest;
}

/* Quantize the values of a block to codes from -most to most, to nearest, halves away from zero.
 * Returns the scale: a code c represents c * scale. If a block is so small that its scale would not
 * be a normal number, all codes are zero; error feedback keeps the values. */
static inline float syn_block_quantize(const float *value, size_t count, int most, int8_t *code)
{
    uint32_t largest = syn_block_largest(value, count);
    if (largest >= SYN_INFINITY_BITS) {
        for (size_t i = 0; i < count; i++)
            code[i] = syn_magnitude(value[i]) >= SYN_INFINITY_BITS;
        return NAN;
    }
    float scale = syn_from_magnitude(largest) / (float)most;
    if (scale < 1e-36F) {
        memset(code, 0, count);
        return 0;
    }
    float inverse = 1 / scale;
    for (size_t i = 0; i < count; i++) {
        float y = value[i] * inverse;
        int rounded = (int)(y + (y < 0 ? -0.5F : 0.5F));
        rounded = rounded > most ? most : rounded;
        code[i] = (int8_t)(rounded < -most ? -most : rounded);
    }
    return scale;
}

static inline float syn_block_value(int code, float scale)
{
    return code ? (float)code * scale : 0;
}

/* The values that the codes of a block represent. With the scale of a finite block, no code needs a
 * test of its own, so that the loop is vectorized. */
static inline void syn_block_values(const int8_t *code, size_t count, float scale, float *value)
{
    if (scale > 0 && scale < (float)INFINITY)
        for (size_t i = 0; i < count; i++)
            value[i] = (float)code[i] * scale;
    else
        for (size_t i = 0; i < count; i++)
            value[i] = syn_block_value(code[i], scale);
}

#endif

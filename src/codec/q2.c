/* Values of 2 bits: a sign, and which of two magnitudes of their block. Evenly spaced levels would
 * waste them (-1, 0, 1 times the largest rounds nearly everything to zero), so the magnitudes are
 * the means of those below and of those above the block's mean magnitude. With each level the mean
 * of what is nearest to it,
 *     |x - Q(x)|^2 <= |x|^2 - sum over levels of count * level^2,
 * so that what remains is always shorter than the original, as error feedback requires.
 *
 * Two floats per block, lower level first; then the codes, four in a byte, the first in its lowest
 * bits: bit 0 is the higher level, bit 1 the minus sign. */
#include "codec/blocks.h"

enum { IS_HIGH = 1, IS_MINUS = 2 };

struct levels {
    float level[2]; /* low, high */
};

static size_t measure(size_t count)
{
    return syn_blocks_bytes(count, 2, 2);
}

static size_t levels_bytes(size_t count)
{
    return measure(count) - (count + 3) / 4;
}

static void decode(const struct syn_kernels *kernels, const uint8_t *bytes, size_t count,
                   float scale, float *value)
{
    const uint8_t *codes = bytes + levels_bytes(count);
    (void)kernels;
    (void)scale;
    for (size_t at = 0; at < count; at += SYN_VALUE_BLOCK, bytes += sizeof(struct levels)) {
        struct levels block;
        memcpy(&block, bytes, sizeof block);
        for (size_t i = at; i < at + syn_block_count(count, at); i++) {
            unsigned code = codes[i / 4] >> i % 4 * 2 & 3;
            float magnitude = block.level[code & IS_HIGH];
            value[i] = code & IS_MINUS ? -magnitude : magnitude;
        }
    }
}

/* In double precision and in a fixed order, so that every machine gets the same result. */
static struct levels find_levels(const float *value, size_t count)
{
    double sum[2] = {0, 0};
    size_t many[2] = {0, 0};
    double all = 0;
    if (syn_block_largest(value, count) >= SYN_INFINITY_BITS)
        return (struct levels){{0, NAN}};
    for (size_t i = 0; i < count; i++)
        all += (double)syn_from_magnitude(syn_magnitude(value[i]));
    double mean = all / (double)count;
    for (size_t i = 0; i < count; i++) {
        double magnitude = (double)syn_from_magnitude(syn_magnitude(value[i]));
        bool is_high = magnitude > mean;
        sum[is_high] += magnitude;
        many[is_high]++;
    }
    return (struct levels){{many[0] ? (float)(sum[0] / (double)many[0]) : 0,
                            many[1] ? (float)(sum[1] / (double)many[1]) : 0}};
}

/* The nearer level; in a block that is not finite, the higher one marks the non-finite values. */
static unsigned code_of(float value, const struct levels *block)
{
    float magnitude = syn_from_magnitude(syn_magnitude(value));
    bool is_high =
        syn_magnitude(value) >= SYN_INFINITY_BITS ||
        (block->level[1] > 0 && magnitude - block->level[0] > block->level[1] - magnitude);
    return (is_high ? IS_HIGH : 0U) | (value < 0 ? IS_MINUS : 0U);
}

static void encode(const struct syn_kernels *kernels, float *value, size_t count, float scale,
                   uint8_t *bytes)
{
    uint8_t *codes = bytes + levels_bytes(count);
    uint8_t *levels = bytes;
    memset(codes, 0, (count + 3) / 4);
    for (size_t at = 0; at < count; at += SYN_VALUE_BLOCK, levels += sizeof(struct levels)) {
        struct levels block = find_levels(value + at, syn_block_count(count, at));
        memcpy(levels, &block, sizeof block);
        for (size_t i = at; i < at + syn_block_count(count, at); i++)
            codes[i / 4] = (uint8_t)(codes[i / 4] | code_of(value[i], &block) << i % 4 * 2);
    }
    decode(kernels, bytes, count, scale, value);
}

const struct syn_value_type syn_value_q2 = {
    .part = {"q2", "2 bits: a sign and one of two magnitudes per 256 values"},
    .has_blocks = true,
    .measure = measure,
    .encode = encode,
    .decode = decode,
};

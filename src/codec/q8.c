/* Values of 8 bits: -127 to 127 times the scale of their block. First the scales of all blocks,
 * then one byte per value. What rounding removes stays in the residual. */
#include "codec/blocks.h"

static size_t measure(size_t count)
{
    return syn_blocks_bytes(count, 8, 1);
}

static size_t scales_bytes(size_t count)
{
    return measure(count) - count;
}

static void decode(const struct syn_kernels *kernels, const uint8_t *bytes, size_t count,
                   float scale, float *value)
{
    const int8_t *codes = (const int8_t *)bytes + scales_bytes(count);
    (void)kernels;
    for (size_t at = 0; at < count; at += SYN_VALUE_BLOCK, bytes += sizeof scale) {
        memcpy(&scale, bytes, sizeof scale);
        syn_block_values(codes + at, syn_block_count(count, at), scale, value + at);
    }
}

static void encode(const struct syn_kernels *kernels, float *value, size_t count, float scale,
                   uint8_t *bytes)
{
    int8_t *codes = (int8_t *)bytes + scales_bytes(count);
    uint8_t *scales = bytes;
    for (size_t at = 0; at < count; at += SYN_VALUE_BLOCK, scales += sizeof scale) {
        scale = syn_block_quantize(value + at, syn_block_count(count, at), 127, codes + at);
        memcpy(scales, &scale, sizeof scale);
    }
    decode(kernels, bytes, count, 0, value);
}

const struct syn_value_type syn_value_q8 = {
    .part = {"q8", "8-bit integers with a scale per 256 values"},
    .has_blocks = true,
    .measure = measure,
    .encode = encode,
    .decode = decode,
};

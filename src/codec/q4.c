/* Values of 4 bits: -7 to 7 times the scale of their block, two in a byte, the first in its lower
 * half. First the scales of all blocks, then the codes plus 8. What rounding removes stays in the
 * residual. */
#include "codec/blocks.h"

enum { BIAS = 8 };

static size_t measure(size_t count)
{
    return syn_blocks_bytes(count, 4, 1);
}

static size_t scales_bytes(size_t count)
{
    return measure(count) - (count + 1) / 2;
}

/* A byte is two codes; if the number of codes is odd, the last one unpacked is not used. */
static void unpack(const uint8_t *bytes, size_t count, int8_t code[SYN_VALUE_BLOCK])
{
    for (size_t i = 0; i < count; i++) {
        code[2 * i] = (int8_t)((bytes[i] & 15) - BIAS);
        code[2 * i + 1] = (int8_t)((bytes[i] >> 4) - BIAS);
    }
}

static void decode(const struct syn_kernels *kernels, const uint8_t *bytes, size_t count,
                   float scale, float *value)
{
    const uint8_t *codes = bytes + scales_bytes(count);
    (void)kernels;
    for (size_t at = 0; at < count; at += SYN_VALUE_BLOCK, bytes += sizeof scale) {
        int8_t code[SYN_VALUE_BLOCK];
        size_t here = syn_block_count(count, at);
        memcpy(&scale, bytes, sizeof scale);
        unpack(codes + at / 2, (here + 1) / 2, code);
        syn_block_values(code, here, scale, value + at);
    }
}

static void pack(const int8_t *code, size_t count, uint8_t *bytes)
{
    for (size_t i = 0; i < count; i += 2) {
        int high = i + 1 < count ? code[i + 1] + BIAS : 0;
        bytes[i / 2] = (uint8_t)((code[i] + BIAS) | high << 4);
    }
}

static void encode(const struct syn_kernels *kernels, float *value, size_t count, float scale,
                   uint8_t *bytes)
{
    uint8_t *codes = bytes + scales_bytes(count);
    uint8_t *scales = bytes;
    for (size_t at = 0; at < count; at += SYN_VALUE_BLOCK, scales += sizeof scale) {
        int8_t code[SYN_VALUE_BLOCK];
        size_t here = syn_block_count(count, at);
        scale = syn_block_quantize(value + at, here, 7, code);
        memcpy(scales, &scale, sizeof scale);
        pack(code, here, codes + at / 2);
    }
    decode(kernels, bytes, count, 0, value);
}

const struct syn_value_type syn_value_q4 = {
    .part = {"q4", "4-bit integers with a scale per 256 values"},
    .has_blocks = true,
    .measure = measure,
    .encode = encode,
    .decode = decode,
};

/* Values as one bit each: +scale or -scale. Bit i of byte i/8, lowest first; 1 is minus. */
#include "codec/codec.h"

static size_t measure(size_t count)
{
    return (count + 7) / 8;
}

static void decode(const struct syn_kernels *kernels, const uint8_t *bytes, size_t count,
                   float scale, float *value)
{
    (void)kernels;
    for (size_t i = 0; i < count; i++)
        value[i] = bytes[i / 8] >> (i % 8) & 1 ? -scale : scale;
}

static void encode(const struct syn_kernels *kernels, float *value, size_t count, float scale,
                   uint8_t *bytes)
{
    memset(bytes, 0, measure(count));
    for (size_t i = 0; i < count; i++)
        bytes[i / 8] = (uint8_t)(bytes[i / 8] | (value[i] < 0) << (i % 8));
    decode(kernels, bytes, count, scale, value);
}

const struct syn_value_type syn_value_sign = {
    .part = {"sign", "one bit each: plus or minus the message's threshold"},
    .needs_scale = true,
    .measure = measure,
    .encode = encode,
    .decode = decode,
};

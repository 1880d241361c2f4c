/* Values in half precision; what rounding removes stays in the residual. The bytes are at an even
 * address: they follow a head of 40 bytes in an aligned buffer. */
#include "codec/codec.h"

static size_t measure(size_t count)
{
    return count * sizeof(uint16_t);
}

static void decode(const struct syn_kernels *kernels, const uint8_t *bytes, size_t count,
                   float scale, float *value)
{
    (void)scale;
    kernels->from_half(value, (const uint16_t *)(const void *)bytes, count);
}

static void encode(const struct syn_kernels *kernels, float *value, size_t count, float scale,
                   uint8_t *bytes)
{
    kernels->to_half((uint16_t *)(void *)bytes, value, count);
    decode(kernels, bytes, count, scale, value);
}

const struct syn_value_type syn_value_f16 = {
    .part = {"f16", "16-bit floats, rounded to nearest"},
    .measure = measure,
    .encode = encode,
    .decode = decode,
};

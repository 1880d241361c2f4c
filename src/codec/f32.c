/* Values unchanged, as 32-bit floats. */
#include "codec/codec.h"

static size_t measure(size_t count)
{
    return count * sizeof(float);
}

static void encode(const struct syn_kernels *kernels, float *value, size_t count, float scale,
                   uint8_t *bytes)
{
    (void)kernels;
    (void)scale;
    memcpy(bytes, value, measure(count));
}

static void decode(const struct syn_kernels *kernels, const uint8_t *bytes, size_t count,
                   float scale, float *value)
{
    (void)kernels;
    (void)scale;
    memcpy(value, bytes, measure(count));
}

const struct syn_value_type syn_value_f32 = {
    .part = {"f32", "32-bit floats, exact"},
    .is_exact = true,
    .measure = measure,
    .encode = encode,
    .decode = decode,
};

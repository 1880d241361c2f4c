/* exp, the logistic function and tanh of eight floats at once, to about one unit in the last place.
 * The polynomials are minimax fits in the manner of Cephes. */
#ifndef SYN_NN_KERNELS_LANES_MATH_H
#define SYN_NN_KERNELS_LANES_MATH_H

#include "engine/nn/kernels/lanes.h"

/* Where mask is set, a; else b. */
SYN_INLINE lanes lanes_choose(lane_bits mask, lanes a, lanes b)
{
    return (lanes)(((lane_bits)a & mask) | ((lane_bits)b & ~mask));
}

/* e^x = 2^n e^r with n = round(x / ln 2) and |r| <= ln 2 / 2. Below -87 the result is zero, above
 * 88 it stays at e^88; NaN stays NaN. */
SYN_INLINE lanes lanes_exp(lanes x)
{
    const float magic = 12582912.0f; /* 1.5 * 2^23: adding it rounds to an integer */
    lanes low = lanes_fill(-87.0f);
    lanes high = lanes_fill(88.0f);
    lanes bounded = lanes_choose(x > high, high, lanes_choose(x < low, low, x));
    lanes n = (bounded * 1.44269504f + magic) - magic;
    lanes r = bounded - n * 0.693359375f;
    r = r - n * -2.12194440e-4f;
    lanes p = lanes_fill(1.9875691500e-4f);
    p = p * r + 1.3981999507e-3f;
    p = p * r + 8.3334519073e-3f;
    p = p * r + 4.1665795894e-2f;
    p = p * r + 1.6666665459e-1f;
    p = p * r + 5.0000001201e-1f;
    p = p * (r * r) + r + 1.0f;
    lane_bits power = (__builtin_convertvector(n, lane_bits) + 127) << 23;
    return lanes_choose(x < low, lanes_fill(0), p * (lanes)power);
}

SYN_INLINE lanes lanes_sigmoid(lanes x)
{
    return 1.0f / (1.0f + lanes_exp(-x));
}

/* For |x| < 0.625 the odd polynomial, which is exact to the last bits near zero; else 1 - 2 / (e^2x
 * + 1). */
SYN_INLINE lanes lanes_tanh(lanes x)
{
    lanes z = x * x;
    lanes p = lanes_fill(-5.70498872745e-3f);
    p = p * z + 2.06390887954e-2f;
    p = p * z + -5.37397155531e-2f;
    p = p * z + 1.33314422036e-1f;
    p = p * z + -3.33332819422e-1f;
    lanes small = p * z * x + x;
    lanes large = 1.0f - 2.0f / (lanes_exp(2.0f * x) + 1.0f);
    return lanes_choose(z < 0.390625f, small, large);
}

/* Load count < 8 floats, with `fill` in the other lanes. */
SYN_INLINE lanes lanes_load_part(const float *from, size_t count, float fill)
{
    float value[LANES] = {fill, fill, fill, fill, fill, fill, fill, fill};
    for (size_t i = 0; i < count; i++)
        value[i] = from[i];
    return lanes_load(value);
}

SYN_INLINE void lanes_store_part(float *to, size_t count, lanes value)
{
    for (size_t i = 0; i < count; i++)
        to[i] = value[i];
}

#endif

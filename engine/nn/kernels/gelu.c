/* GELU, x Phi(x). With z = |x| / sqrt(2), the tail of the normal distribution is
 *
 *     Phi(-|x|) = (a1 t + ... + a5 t^5) e^(-z^2) / 2,   t = 1 / (1 + p z)
 *
 * to 8e-8 (Abramowitz and Stegun, 7.1.26), and the derivative, Phi(x) + x e^(-x^2 / 2) / sqrt(2
 * pi), has the same exponential. So training computes it in the forward pass, where it costs next
 * to nothing, and the backward pass only multiplies. */
#include "engine/nn/kernels/kernels.h"
#include "engine/nn/kernels/lanes_math.h"

#define HALF_ROOT  0.70710678f /* 1 / sqrt(2) */
#define PEAK       0.39894228f /* 1 / sqrt(2 pi) */
#define TAIL_SCALE 0.3275911f

/* Phi(x), given e^(-x^2 / 2). */
SYN_INLINE lanes distribution(lanes x, lanes bell)
{
    lanes z = (lanes)((lane_bits)x & 0x7fffffff) * HALF_ROOT;
    lanes t = 1.0f / (z * TAIL_SCALE + 1.0f);
    lanes p = lanes_fill(0.5f * 1.061405429f);
    p = p * t + 0.5f * -1.453152027f;
    p = p * t + 0.5f * 1.421413741f;
    p = p * t + 0.5f * -0.284496736f;
    p = p * t + 0.5f * 0.254829592f;
    lanes tail = p * t * bell;
    return lanes_choose(x < 0.0f, tail, 1.0f - tail);
}

static void forward(const float *x, float *y, float *slope, size_t count)
{
    for (size_t i = 0; i < count; i += LANES) {
        lanes value = lanes_load(x + i);
        lanes bell = lanes_exp(value * value * -0.5f);
        lanes share = distribution(value, bell);
        lanes_store(y + i, value * share);
        if (slope)
            lanes_store(slope + i, value * bell * PEAK + share);
    }
}

static void backward(const float *dy, const float *slope, float *dx, size_t count)
{
    for (size_t i = 0; i < count; i += LANES)
        lanes_store(dx + i, lanes_load(dy + i) * lanes_load(slope + i));
}

const struct gelu_kernels SYN_KERNEL(syn_gelu) = {forward, backward};

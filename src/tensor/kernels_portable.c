/* The reference kernels: plain loops that define the results. The build forbids contracting a*b+c,
 * so that they round as the vector kernels do. */
#include "tensor/kernels.h"

#include "tensor/descent.h"

static uint32_t larger(uint32_t a, uint32_t b)
{
    return a > b ? a : b;
}

/* Compare entry i of the pass with the cutoff. */
static void compare(struct syn_scan *scan, size_t i, float x)
{
    uint32_t magnitude = syn_magnitude(x);
    scan->largest = larger(scan->largest, magnitude);
    if (magnitude > scan->cutoff) {
        scan->index[scan->found] = scan->first + (uint32_t)i;
        scan->value[scan->found++] = x;
    }
}

static void accumulate(float *sum, const float *kept, const float *gradient, float scale,
                       size_t count, bool past_caches, struct syn_scan *scan)
{
    (void)past_caches;
    for (size_t i = 0; i < count; i++) {
        sum[i] = kept[i] + scale * gradient[i];
        compare(scan, i, sum[i]);
    }
}

static void accumulate_velocity(float *sum, float *velocity_out, const float *kept,
                                const float *velocity, const float *gradient, float momentum,
                                float scale, size_t count, bool past_caches, struct syn_scan *scan)
{
    (void)past_caches;
    for (size_t i = 0; i < count; i++) {
        velocity_out[i] = momentum * velocity[i] + scale * gradient[i];
        float whole = kept[i] + velocity_out[i];
        if (sum)
            sum[i] = whole;
        scan->largest = larger(scan->largest, syn_magnitude(velocity_out[i]));
        compare(scan, i, whole);
    }
}

static void scan_entries(const float *x, size_t count, struct syn_scan *scan)
{
    for (size_t i = 0; i < count; i++)
        compare(scan, i, x[i]);
}

static uint32_t add(float *sum, const float *a, const float *b, size_t count)
{
    uint32_t largest = 0;
    for (size_t i = 0; i < count; i++) {
        sum[i] = a[i] + b[i];
        largest = larger(largest, syn_magnitude(sum[i]));
    }
    return largest;
}

/* Round to nearest even by hand: shift the mantissa out, then check the bits that were shifted
 * off. */
static uint16_t half_of(float x)
{
    uint32_t bits;
    memcpy(&bits, &x, sizeof bits);
    uint32_t sign = (bits >> 16) & 0x8000U;
    uint32_t magnitude = bits & 0x7fffffffU;
    if (magnitude >
        SYN_INFINITY_BITS) /* NaN: quiet, with as much payload as fits, as in hardware */
        return (uint16_t)(sign | 0x7e00U | ((magnitude >> 13) & 0x3ffU));
    if (magnitude == SYN_INFINITY_BITS)
        return (uint16_t)(sign | 0x7c00U);
    if (magnitude >= 0x477fe000U) /* 65504 and beyond */
        return (uint16_t)(sign | 0x7bffU);
    uint32_t exponent = magnitude >> 23;
    uint32_t mantissa = magnitude & 0x7fffffU;
    uint32_t shift = 13;
    uint32_t whole;
    if (exponent < 113) { /* below 2^-14: a subnormal half */
        if (exponent < 102)
            return (uint16_t)sign;
        mantissa |= 0x800000U;
        shift = 126 - exponent;
        whole = mantissa >> shift;
    } else {
        whole = (exponent - 112) << 10 | mantissa >> shift;
    }
    uint32_t rest = mantissa & ((1U << shift) - 1);
    uint32_t tie = 1U << (shift - 1);
    if (rest > tie || (rest == tie && (whole & 1)))
        whole++;
    return (uint16_t)(sign | whole);
}

static float whole_of(uint16_t half)
{
    uint32_t sign = (uint32_t)(half & 0x8000U) << 16;
    uint32_t exponent = (half >> 10) & 0x1fU;
    uint32_t mantissa = half & 0x3ffU;
    uint32_t bits;
    if (exponent == 0x1f && mantissa) {
        bits = 0x7fc00000U | mantissa << 13;
    } else if (exponent == 0x1f) {
        bits = SYN_INFINITY_BITS;
    } else if (exponent == 0) { /* mantissa * 2^-24, exact in a float */
        float small = (float)mantissa * 0x1p-24F;
        memcpy(&bits, &small, sizeof bits);
    } else {
        bits = (exponent + 112) << 23 | mantissa << 13;
    }
    bits |= sign;
    float x;
    memcpy(&x, &bits, sizeof x);
    return x;
}

static void to_half(uint16_t *half, const float *x, size_t count)
{
    for (size_t i = 0; i < count; i++)
        half[i] = half_of(x[i]);
}

static void from_half(float *x, const uint16_t *half, size_t count)
{
    for (size_t i = 0; i < count; i++)
        x[i] = whole_of(half[i]);
}

static void descend(struct syn_descent step, const float *gradient, float *weights, float *memory,
                    size_t count)
{
    syn_descend(step, gradient, weights, memory, count);
}

static void descend_and_foresee(struct syn_descent step, const float *gradient, float *weights,
                                float *memory, struct syn_descent next, const float *next_gradient,
                                float *result, size_t count)
{
    syn_descend_and_foresee(step, gradient, weights, memory, next, next_gradient, result, count);
}

const struct syn_kernels syn_kernels_portable = {
    .name = "portable",
    .accumulate = accumulate,
    .accumulate_velocity = accumulate_velocity,
    .scan = scan_entries,
    .add = add,
    .to_half = to_half,
    .from_half = from_half,
    .descend = descend,
    .descend_and_foresee = descend_and_foresee,
};

/* The kernels in AVX2: eight floats at a time, the rest by the reference. Multiplication and addition round
 * separately (no FMA), so that every result has the reference's bits. */
#include "tensor/kernels.h"

#if defined(__x86_64__)
#include <immintrin.h>

#define VECTOR __attribute__((target("avx2,bmi,f16c")))
#define LANES  8

VECTOR static __m256i magnitudes(__m256 x)
{
    return _mm256_and_si256(_mm256_castps_si256(x), _mm256_set1_epi32(0x7fffffff));
}

VECTOR static uint32_t largest_lane(__m256i x)
{
    __m128i four = _mm_max_epi32(_mm256_castsi256_si128(x), _mm256_extracti128_si256(x, 1));
    __m128i two = _mm_max_epi32(four, _mm_shuffle_epi32(four, 0x4e));
    __m128i one = _mm_max_epi32(two, _mm_shuffle_epi32(two, 0xb1));
    return (uint32_t)_mm_cvtsi128_si32(one);
}

static uint32_t larger(uint32_t a, uint32_t b)
{
    return a > b ? a : b;
}

VECTOR static uint32_t accumulate(float *sum, const float *kept, const float *gradient, float scale,
                                  size_t count)
{
    __m256 s = _mm256_set1_ps(scale);
    __m256i largest = _mm256_setzero_si256();
    size_t i = 0;
    for (; i + LANES <= count; i += LANES) {
        __m256 g = _mm256_mul_ps(s, _mm256_loadu_ps(gradient + i));
        __m256 a = _mm256_add_ps(_mm256_loadu_ps(kept + i), g);
        largest = _mm256_max_epi32(largest, magnitudes(a));
        _mm256_storeu_ps(sum + i, a);
    }
    uint32_t rest =
        syn_kernels_portable.accumulate(sum + i, kept + i, gradient + i, scale, count - i);
    return larger(largest_lane(largest), rest);
}

VECTOR static uint32_t accumulate_velocity(float *sum, float *velocity_out, const float *kept,
                                           const float *velocity, const float *gradient,
                                           float momentum, float scale, size_t count)
{
    __m256 s = _mm256_set1_ps(scale);
    __m256 m = _mm256_set1_ps(momentum);
    __m256i largest = _mm256_setzero_si256();
    size_t i = 0;
    for (; i + LANES <= count; i += LANES) {
        __m256 g = _mm256_mul_ps(s, _mm256_loadu_ps(gradient + i));
        __m256 u = _mm256_add_ps(_mm256_mul_ps(m, _mm256_loadu_ps(velocity + i)), g);
        __m256 a = _mm256_add_ps(_mm256_loadu_ps(kept + i), u);
        largest = _mm256_max_epi32(largest, _mm256_max_epi32(magnitudes(u), magnitudes(a)));
        _mm256_storeu_ps(velocity_out + i, u);
        _mm256_storeu_ps(sum + i, a);
    }
    uint32_t rest =
        syn_kernels_portable.accumulate_velocity(sum + i, velocity_out + i, kept + i, velocity + i,
                                                 gradient + i, momentum, scale, count - i);
    return larger(largest_lane(largest), rest);
}

VECTOR static unsigned above(const float *x, __m256i bar)
{
    __m256i is_above = _mm256_cmpgt_epi32(magnitudes(_mm256_loadu_ps(x)), bar);
    return (unsigned)_mm256_movemask_ps(_mm256_castsi256_ps(is_above));
}

/* Hits are rare, so 32 floats are tested with one branch. A bar of 2^31 or more cannot come: magnitudes are
 * below it, and the signed comparison is right for them. */
VECTOR static size_t scan(const float *x, size_t count, uint32_t bar, uint32_t base,
                          uint32_t *found)
{
    __m256i bars = _mm256_set1_epi32((int)bar);
    size_t n = 0;
    size_t i = 0;
    for (; i + 4 * LANES <= count; i += 4 * LANES) {
        uint32_t hits = above(x + i, bars) | above(x + i + 8, bars) << 8 |
                        above(x + i + 16, bars) << 16 | above(x + i + 24, bars) << 24;
        while (hits) {
            found[n++] = base + (uint32_t)i + (uint32_t)__builtin_ctz(hits);
            hits &= hits - 1;
        }
    }
    return n + syn_kernels_portable.scan(x + i, count - i, bar, base + (uint32_t)i, found + n);
}

VECTOR static uint32_t add(float *sum, const float *a, const float *b, size_t count)
{
    __m256i largest = _mm256_setzero_si256();
    size_t i = 0;
    for (; i + LANES <= count; i += LANES) {
        __m256 s = _mm256_add_ps(_mm256_loadu_ps(a + i), _mm256_loadu_ps(b + i));
        largest = _mm256_max_epi32(largest, magnitudes(s));
        _mm256_storeu_ps(sum + i, s);
    }
    uint32_t rest = syn_kernels_portable.add(sum + i, a + i, b + i, count - i);
    return larger(largest_lane(largest), rest);
}

VECTOR static void copy_past_cache(float *to, const float *from, size_t count)
{
    size_t i = 0;
    for (; i < count && ((uintptr_t)(to + i) % 32) != 0; i++)
        to[i] = from[i];
    for (; i + LANES <= count; i += LANES)
        _mm256_stream_ps(to + i, _mm256_loadu_ps(from + i));
    for (; i < count; i++)
        to[i] = from[i];
    _mm_sfence();
}

VECTOR static void to_half(uint16_t *half, const float *x, size_t count)
{
    const __m256 most = _mm256_set1_ps(65504.0F);
    const __m256 sign = _mm256_set1_ps(-0.0F);
    const __m256i infinity = _mm256_set1_epi32((int)SYN_INFINITY_BITS);
    size_t i = 0;
    for (; i + LANES <= count; i += LANES) {
        __m256 v = _mm256_loadu_ps(x + i);
        __m256 size = _mm256_andnot_ps(sign, v);
        __m256i is_finite = _mm256_cmpgt_epi32(infinity, _mm256_castps_si256(size));
        __m256 capped = _mm256_or_ps(_mm256_min_ps(size, most), _mm256_and_ps(sign, v));
        v = _mm256_blendv_ps(v, capped, _mm256_castsi256_ps(is_finite));
        __m128i h = _mm256_cvtps_ph(v, _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC);
        _mm_storeu_si128((__m128i *)(half + i), h);
    }
    syn_kernels_portable.to_half(half + i, x + i, count - i);
}

VECTOR static void from_half(float *x, const uint16_t *half, size_t count)
{
    size_t i = 0;
    for (; i + LANES <= count; i += LANES)
        _mm256_storeu_ps(x + i, _mm256_cvtph_ps(_mm_loadu_si128((const __m128i *)(half + i))));
    syn_kernels_portable.from_half(x + i, half + i, count - i);
}

const struct syn_kernels syn_kernels_avx2 = {
    .name = "avx2",
    .accumulate = accumulate,
    .accumulate_velocity = accumulate_velocity,
    .scan = scan,
    .add = add,
    .copy_past_cache = copy_past_cache,
    .to_half = to_half,
    .from_half = from_half,
};
#else
/* A file must declare something. */
extern const struct syn_kernels syn_kernels_avx2;
#endif

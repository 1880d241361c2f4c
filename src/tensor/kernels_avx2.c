/* The kernels in AVX2: eight floats at a time, the remainder by the reference kernels.
 * Multiplication and addition round separately (no FMA), so that every result has the same bits as
 * the reference. */
#include "tensor/kernels.h"

#if defined(__x86_64__)
#include <immintrin.h>

#include "tensor/descent.h"

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

/* Entries that are compared with the cutoff by one branch, as hits are rare. */
#define VECTORS 4
#define RUN     (VECTORS * LANES)

#define INLINE static inline __attribute__((always_inline))

/* The state of the scan inside a kernel. */
struct scan_state {
    __m256i cutoff;
    __m256i largest;
};

VECTOR INLINE struct scan_state open_scan(const struct syn_scan *scan)
{
    struct scan_state state = {_mm256_set1_epi32((int)scan->cutoff),
                               _mm256_set1_epi32((int)scan->largest)};
    return state;
}

/* Kept out of the loop: some entry of this run is above the cutoff. */
VECTOR static __attribute__((noinline)) void collect(struct syn_scan *scan, size_t first,
                                                     __m256i cutoff, const __m256 *x)
{
    _Alignas(32) float run[RUN];
    uint32_t hits = 0;
    for (int v = 0; v < VECTORS; v++) {
        __m256i is_above = _mm256_cmpgt_epi32(magnitudes(x[v]), cutoff);
        hits |= (uint32_t)_mm256_movemask_ps(_mm256_castsi256_ps(is_above)) << (v * LANES);
        _mm256_store_ps(run + v * LANES, x[v]);
    }
    for (; hits; hits &= hits - 1) {
        uint32_t at = (uint32_t)__builtin_ctz(hits);
        scan->index[scan->found] = scan->first + (uint32_t)first + at;
        scan->value[scan->found++] = run[at];
    }
}

/* Compare a run of entries from `first` on with the cutoff. */
VECTOR INLINE void compare(struct syn_scan *scan, struct scan_state *state, size_t first,
                           const __m256 *x)
{
    __m256i peak = magnitudes(x[0]);
    for (int v = 1; v < VECTORS; v++)
        peak = _mm256_max_epi32(peak, magnitudes(x[v]));
    state->largest = _mm256_max_epi32(state->largest, peak);
    __m256i is_above = _mm256_cmpgt_epi32(peak, state->cutoff);
    if (!_mm256_testz_si256(is_above, is_above))
        collect(scan, first, state->cutoff, x);
}

/* The rest of a pass, from entry i on, is left to the reference. */
VECTOR INLINE struct syn_scan rest_of(struct syn_scan *scan, const struct scan_state *state,
                                      size_t i)
{
    struct syn_scan rest = *scan;
    rest.first += (uint32_t)i;
    rest.largest = largest_lane(state->largest);
    return rest;
}

static void take_rest(struct syn_scan *scan, const struct syn_scan *rest)
{
    scan->found = rest->found;
    scan->largest = rest->largest;
}

/* Only whole aligned vectors can bypass the caches. No fence follows: this thread sees its own
 * stores, and another thread gets access through a lock, whose atomic instruction waits for
 * them. */
VECTOR INLINE void put(float *to, __m256 x, bool streams)
{
    if (streams)
        _mm256_stream_ps(to, x);
    else
        _mm256_storeu_ps(to, x);
}

/* Compiled for both values of streams, which is constant in each; likewise below. */
VECTOR INLINE void accumulate_as(float *sum, const float *kept, const float *gradient, float scale,
                                 size_t count, bool streams, struct syn_scan *scan)
{
    __m256 s = _mm256_set1_ps(scale);
    struct scan_state state = open_scan(scan);
    size_t i = 0;
    for (; i + RUN <= count; i += RUN) {
        __m256 a[VECTORS];
        for (int v = 0; v < VECTORS; v++) {
            size_t j = i + (size_t)v * LANES;
            __m256 g = _mm256_mul_ps(s, _mm256_loadu_ps(gradient + j));
            a[v] = _mm256_add_ps(_mm256_loadu_ps(kept + j), g);
            put(sum + j, a[v], streams);
        }
        compare(scan, &state, i, a);
    }
    struct syn_scan rest = rest_of(scan, &state, i);
    syn_kernels_portable.accumulate(sum + i, kept + i, gradient + i, scale, count - i, false,
                                    &rest);
    take_rest(scan, &rest);
}

static bool can_stream(const float *to)
{
    return (uintptr_t)to % 32 == 0;
}

VECTOR static void accumulate(float *sum, const float *kept, const float *gradient, float scale,
                              size_t count, bool past_caches, struct syn_scan *scan)
{
    if (past_caches && can_stream(sum))
        accumulate_as(sum, kept, gradient, scale, count, true, scan);
    else
        accumulate_as(sum, kept, gradient, scale, count, false, scan);
}

VECTOR INLINE void accumulate_velocity_as(float *sum, float *velocity_out, const float *kept,
                                          const float *velocity, const float *gradient,
                                          float momentum, float scale, size_t count, bool streams,
                                          bool stores, struct syn_scan *scan)
{
    __m256 s = _mm256_set1_ps(scale);
    __m256 m = _mm256_set1_ps(momentum);
    struct scan_state state = open_scan(scan);
    size_t i = 0;
    for (; i + RUN <= count; i += RUN) {
        __m256 a[VECTORS];
        for (int v = 0; v < VECTORS; v++) {
            size_t j = i + (size_t)v * LANES;
            __m256 g = _mm256_mul_ps(s, _mm256_loadu_ps(gradient + j));
            __m256 u = _mm256_add_ps(_mm256_mul_ps(m, _mm256_loadu_ps(velocity + j)), g);
            a[v] = _mm256_add_ps(_mm256_loadu_ps(kept + j), u);
            state.largest = _mm256_max_epi32(state.largest, magnitudes(u));
            put(velocity_out + j, u, streams);
            if (stores)
                put(sum + j, a[v], streams);
        }
        compare(scan, &state, i, a);
    }
    struct syn_scan rest = rest_of(scan, &state, i);
    syn_kernels_portable.accumulate_velocity(stores ? sum + i : NULL, velocity_out + i, kept + i,
                                             velocity + i, gradient + i, momentum, scale, count - i,
                                             false, &rest);
    take_rest(scan, &rest);
}

VECTOR static void accumulate_velocity(float *sum, float *velocity_out, const float *kept,
                                       const float *velocity, const float *gradient, float momentum,
                                       float scale, size_t count, bool past_caches,
                                       struct syn_scan *scan)
{
    bool streams = past_caches && can_stream(velocity_out) && can_stream(sum);
    if (sum && streams)
        accumulate_velocity_as(sum, velocity_out, kept, velocity, gradient, momentum, scale, count,
                               true, true, scan);
    else if (sum)
        accumulate_velocity_as(sum, velocity_out, kept, velocity, gradient, momentum, scale, count,
                               false, true, scan);
    else if (streams)
        accumulate_velocity_as(NULL, velocity_out, kept, velocity, gradient, momentum, scale, count,
                               true, false, scan);
    else
        accumulate_velocity_as(NULL, velocity_out, kept, velocity, gradient, momentum, scale, count,
                               false, false, scan);
}

VECTOR static void scan_entries(const float *x, size_t count, struct syn_scan *scan)
{
    struct scan_state state = open_scan(scan);
    size_t i = 0;
    for (; i + RUN <= count; i += RUN) {
        __m256 run[VECTORS];
        for (int v = 0; v < VECTORS; v++)
            run[v] = _mm256_loadu_ps(x + i + (size_t)v * LANES);
        compare(scan, &state, i, run);
    }
    struct syn_scan rest = rest_of(scan, &state, i);
    syn_kernels_portable.scan(x + i, count - i, &rest);
    take_rest(scan, &rest);
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

VECTOR static void descend(struct syn_descent step, const float *gradient, float *weights,
                           float *memory, size_t count)
{
    syn_descend(step, gradient, weights, memory, count);
}

VECTOR static void descend_and_foresee(struct syn_descent step, const float *gradient,
                                       float *weights, float *memory, struct syn_descent next,
                                       const float *next_gradient, float *result, size_t count)
{
    syn_descend_and_foresee(step, gradient, weights, memory, next, next_gradient, result, count);
}

const struct syn_kernels syn_kernels_avx2 = {
    .name = "avx2",
    .accumulate = accumulate,
    .accumulate_velocity = accumulate_velocity,
    .scan = scan_entries,
    .add = add,
    .to_half = to_half,
    .from_half = from_half,
    .descend = descend,
    .descend_and_foresee = descend_and_foresee,
};
#else
/* A file must declare something. */
extern const struct syn_kernels syn_kernels_avx2;
#endif

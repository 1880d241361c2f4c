/* The vector in which products are summed: eight floats, or sixteen on AVX-512, loaded and stored
 * as blocks of eight that may be apart in memory. */
#ifndef SYN_NN_KERNELS_WIDE_H
#define SYN_NN_KERNELS_WIDE_H

#include <stddef.h>

#include "engine/nn/kernels/lanes.h"

#ifdef __AVX512F__
#define WIDE 16

typedef float wide __attribute__((vector_size(WIDE * sizeof(float))));

SYN_INLINE wide wide_fill(float v)
{
    return (wide){v, v, v, v, v, v, v, v, v, v, v, v, v, v, v, v};
}

SYN_INLINE wide wide_join(lanes low, lanes high)
{
    return __builtin_shufflevector(low, high, 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15);
}

/* Vector number i counted from `from`; of only eight floats if eights is 1. */
SYN_INLINE wide wide_load(const float *from, size_t i, const size_t eights)
{
    wide value;
    if (eights == 1)
        return wide_join(lanes_load(from), lanes_load(from));
    memcpy(&value, from + WIDE * i, sizeof value);
    return value;
}

/* The same if blocks of eight are step floats apart. */
SYN_INLINE wide wide_gather(const float *from, size_t step, size_t i, const size_t eights)
{
    lanes low = lanes_load(from + 2 * i * step);
    return wide_join(low, eights == 1 ? low : lanes_load(from + (2 * i + 1) * step));
}

SYN_INLINE void wide_scatter(float *to, size_t step, size_t i, const size_t eights, wide value)
{
    lanes_store(to + 2 * i * step, __builtin_shufflevector(value, value, 0, 1, 2, 3, 4, 5, 6, 7));
    if (eights > 1)
        lanes_store(to + (2 * i + 1) * step,
                    __builtin_shufflevector(value, value, 8, 9, 10, 11, 12, 13, 14, 15));
}

typedef int32_t wide_bits __attribute__((vector_size(WIDE * sizeof(float))));
#else
#define WIDE      LANES

typedef lanes wide;
typedef lane_bits wide_bits;
#define wide_fill lanes_fill

SYN_INLINE wide wide_load(const float *from, size_t i, const size_t eights)
{
    (void)eights;
    return lanes_load(from + WIDE * i);
}

SYN_INLINE wide wide_gather(const float *from, size_t step, size_t i, const size_t eights)
{
    (void)eights;
    return lanes_load(from + i * step);
}

SYN_INLINE void wide_scatter(float *to, size_t step, size_t i, const size_t eights, wide value)
{
    (void)eights;
    lanes_store(to + i * step, value);
}
#endif

/* max(0, x) in every lane; NaN stays NaN. */
SYN_INLINE wide wide_relu(wide x)
{
    return (wide)((wide_bits)x & ~(x < 0.0f));
}

#endif

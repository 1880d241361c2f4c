/* Eight floats at once, in the compiler's own vector types: the same source becomes AVX2 code, two
 * SSE halves or NEON, without an intrinsic. Files of this folder are compiled once per instruction
 * set (SYN_KERNEL_SET), with a*b+c rounded once where the machine supports it; all exported names
 * contain the set's name. */
#ifndef SYN_NN_KERNELS_LANES_H
#define SYN_NN_KERNELS_LANES_H

#include <stdint.h>
#include <string.h>

#define LANES 8

typedef float lanes __attribute__((vector_size(LANES * sizeof(float))));
typedef int32_t lane_bits __attribute__((vector_size(LANES * sizeof(float))));

/* Kernels take constants (rows, kernel size) as parameters, which must be folded. */
#define SYN_INLINE static inline __attribute__((always_inline))

/* Put before a loop over an array that should stay in registers. With sanitizers, unrolling takes a
 * minute to compile and gains nothing. */
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define SYN_UNROLL
#elif defined(__clang__)
#define SYN_UNROLL _Pragma("clang loop unroll(full)")
#else
#define SYN_UNROLL _Pragma("GCC unroll 16")
#endif

#define SYN_JOIN_AGAIN(name, set) name##_##set
#define SYN_JOIN(name, set)       SYN_JOIN_AGAIN(name, set)
#define SYN_KERNEL(name)          SYN_JOIN(name, SYN_KERNEL_SET)

SYN_INLINE lanes lanes_load(const float *from)
{
    lanes value;
    memcpy(&value, from, sizeof value);
    return value;
}

SYN_INLINE void lanes_store(float *to, lanes value)
{
    memcpy(to, &value, sizeof value);
}

SYN_INLINE lanes lanes_fill(float value)
{
    return (lanes){value, value, value, value, value, value, value, value};
}

/* max(0, x) in every lane; NaN stays NaN. */
SYN_INLINE lanes lanes_relu(lanes x)
{
    return (lanes)((lane_bits)x & ~(x < 0.0f));
}

/* All bits of a lane are set where it is NaN. */
SYN_INLINE lane_bits lanes_nan(lanes x)
{
    return ((lane_bits)x & 0x7fffffff) > 0x7f800000;
}

#endif

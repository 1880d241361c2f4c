/* Which instruction set to use. */
#include "engine/nn/kernels/kernels.h"

extern const struct nn_kernels syn_nn_kernels_portable;

#if defined(__x86_64__)
extern const struct nn_kernels syn_nn_kernels_avx2;
extern const struct nn_kernels syn_nn_kernels_avx512;

/* The instructions that a set's files are compiled for (kernels.cmake). */
static bool has_avx2(void)
{
    return __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma");
}

static bool has_avx512(void)
{
    return __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512vl") &&
           __builtin_cpu_supports("avx512bw") && __builtin_cpu_supports("avx512dq");
}

size_t syn_nn_kernel_sets(const struct nn_kernels *sets[NN_MOST_KERNEL_SETS])
{
    size_t count = 0;
    sets[count++] = &syn_nn_kernels_portable;
    if (has_avx2())
        sets[count++] = &syn_nn_kernels_avx2;
    if (has_avx2() && has_avx512())
        sets[count++] = &syn_nn_kernels_avx512;
    return count;
}
#else
size_t syn_nn_kernel_sets(const struct nn_kernels *sets[NN_MOST_KERNEL_SETS])
{
    sets[0] = &syn_nn_kernels_portable;
    return 1;
}
#endif

const struct nn_kernels *syn_nn_kernels(void)
{
    const struct nn_kernels *sets[NN_MOST_KERNEL_SETS];
    return sets[syn_nn_kernel_sets(sets) - 1];
}

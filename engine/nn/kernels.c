/* Which instruction set to use. */
#include "engine/nn/kernels/kernels.h"

extern const struct nn_kernels syn_nn_kernels_portable;

#if defined(__x86_64__)
extern const struct nn_kernels syn_nn_kernels_avx2;

const struct nn_kernels *syn_nn_kernels(void)
{
    bool has_avx2 = __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma");
    return has_avx2 ? &syn_nn_kernels_avx2 : &syn_nn_kernels_portable;
}
#else
const struct nn_kernels *syn_nn_kernels(void)
{
    return &syn_nn_kernels_portable;
}
#endif

/* The choice of kernels for this machine. Asking the processor costs a few nanoseconds and is done
 * anew at each call, so that there is no state to initialise or to race for. */
#include "tensor/kernels.h"

#if defined(__x86_64__)
extern const struct syn_kernels syn_kernels_avx2;

const struct syn_kernels *syn_kernels_vector(void)
{
    /* Every processor with AVX2 converts to half precision too; not every compiler can ask. */
    bool has_all = __builtin_cpu_supports("avx2") && __builtin_cpu_supports("bmi");
    return has_all ? &syn_kernels_avx2 : NULL;
}
#else
const struct syn_kernels *syn_kernels_vector(void)
{
    return NULL;
}
#endif

const struct syn_kernels *syn_kernels(void)
{
    const struct syn_kernels *vector = syn_kernels_vector();
    return vector ? vector : &syn_kernels_portable;
}

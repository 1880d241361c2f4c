/* The choice of kernels for this machine. Asking the processor costs a few nanoseconds and is done
 * anew at each call, so that there is no state to initialise or to race for. */
#include "tensor/kernels.h"

#if defined(__x86_64__)
#include <cpuid.h>

extern const struct syn_kernels syn_kernels_avx2;

/* Not every compiler's __builtin_cpu_supports() knows this one. */
static bool has_f16c(void)
{
    unsigned a;
    unsigned b;
    unsigned c = 0;
    unsigned d;
    return __get_cpuid(1, &a, &b, &c, &d) && (c & bit_F16C) != 0;
}

const struct syn_kernels *syn_kernels_vector(void)
{
    bool has_all = __builtin_cpu_supports("avx2") && __builtin_cpu_supports("bmi") && has_f16c();
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

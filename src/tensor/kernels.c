/* The choice of kernels for this machine. The processor is queried once: on a virtual machine each
 * query traps into the hypervisor and takes about ten microseconds. Threads that query at the same
 * time get the same answer, so no lock is needed. */
#include "tensor/kernels.h"

#include <stdatomic.h>

#if defined(__x86_64__)
#include <cpuid.h>

extern const struct syn_kernels syn_kernels_avx2;

/* Not every compiler's __builtin_cpu_supports() supports this one. */
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
    static _Atomic(const struct syn_kernels *) chosen;
    const struct syn_kernels *kernels = atomic_load_explicit(&chosen, memory_order_relaxed);
    if (kernels)
        return kernels;
    const struct syn_kernels *vector = syn_kernels_vector();
    kernels = vector ? vector : &syn_kernels_portable;
    atomic_store_explicit(&chosen, kernels, memory_order_relaxed);
    return kernels;
}

size_t syn_first_not_finite(const float *x, size_t count)
{
    enum { BLOCK = 1024 };
    uint32_t index[BLOCK];
    float value[BLOCK];
    for (size_t at = 0; at < count; at += BLOCK) {
        struct syn_scan scan = {
            .cutoff = SYN_INFINITY_BITS - 1, .first = (uint32_t)at, .index = index, .value = value};
        syn_kernels()->scan(x + at, count - at < BLOCK ? count - at : BLOCK, &scan);
        if (scan.found > 0)
            return index[0];
    }
    return count;
}

/* The k-th largest of many magnitudes, without sorting. */
#ifndef SYN_TENSOR_LARGEST_H
#define SYN_TENSOR_LARGEST_H

#include <stddef.h>
#include <stdint.h>

/* What decides whether an entry is among the k largest: magnitudes above cutoff are; of those equal
 * to cutoff, the first `ties` are. */
struct syn_cut {
    uint32_t cutoff; /* bits of a magnitude, see kernels.h */
    size_t ties;
};

/* The cut for the k values of largest magnitude; 0 < k <= count. */
struct syn_cut syn_largest(const float *value, size_t count, size_t k);

#endif

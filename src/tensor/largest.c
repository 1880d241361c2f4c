/* Radix selection from the top: count the highest 11 bits, find the bin that contains the k-th
 * largest, then refine only that bin's members by the next 11 bits, then by the last 9. Three
 * passes over the data and a bin table that fits the first-level cache; no copy, no worst case,
 * unlike quickselect on ties. */
#include "tensor/largest.h"

#include <assert.h>

#include "tensor/kernels.h"

#define BINS 2048

/* The digit's place; members of the bin agree with `prefix` above it. */
struct digit {
    unsigned shift;
    unsigned bits;
};

static const struct digit digits[] = {{20, 11}, {9, 11}, {0, 9}};

static void tally(uint32_t *bins, uint32_t magnitude, struct digit digit, uint32_t prefix)
{
    unsigned above = digit.shift + digit.bits;
    if (above >= 31 || magnitude >> above == prefix)
        bins[magnitude >> digit.shift & ((1U << digit.bits) - 1)]++;
}

/* The bin that holds the k-th largest; *k becomes its rank inside the bin. */
static uint32_t find_bin(const uint32_t *bins, struct digit digit, size_t *k)
{
    uint32_t bin = (1U << digit.bits) - 1;
    while (bins[bin] < *k) {
        *k -= bins[bin];
        assert(bin > 0);
        bin--;
    }
    return bin;
}

struct syn_cut syn_largest(const float *value, size_t count, size_t k)
{
    assert(k > 0 && k <= count);
    uint32_t prefix = 0;
    for (size_t d = 0; d < 3; d++) {
        uint32_t bins[BINS] = {0};
        for (size_t i = 0; i < count; i++)
            tally(bins, syn_magnitude(value[i]), digits[d], prefix);
        prefix = prefix << digits[d].bits | find_bin(bins, digits[d], &k);
    }
    return (struct syn_cut){prefix, k};
}

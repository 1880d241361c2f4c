/* The inner loops. One set is portable C, the reference; others use vector instructions and must
 * give the same bits on every input (a test compares them). The best set for this machine is chosen
 * at run time.
 *
 * Magnitudes are compared as integers: for finite floats, |x| < |y| exactly when the bits of x
 * without the sign, read as an unsigned number, are below those of y. NaN and infinity are the
 * largest. */
#ifndef SYN_TENSOR_KERNELS_H
#define SYN_TENSOR_KERNELS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

/* Bits of infinity: a magnitude below this is finite. */
#define SYN_INFINITY_BITS 0x7f800000U

/* The bits of |x|. */
static inline uint32_t syn_magnitude(float x)
{
    uint32_t bits;
    memcpy(&bits, &x, sizeof bits);
    return bits & 0x7fffffffU;
}

/* The magnitude with these bits. */
static inline float syn_from_magnitude(uint32_t bits)
{
    float x;
    memcpy(&x, &bits, sizeof x);
    return x;
}

/* A cutoff that no magnitude is above. */
#define SYN_COLLECT_NOTHING 0x7fffffffU

/* A scan: the entries that a pass collects, those of magnitude above the cutoff, in ascending
 * order. */
struct syn_scan {
    uint32_t cutoff; /* at most SYN_COLLECT_NOTHING */
    uint32_t first;  /* the index of the pass's entry 0 */
    uint32_t *index; /* [found], with room for all entries of the pass; likewise value */
    float *value;
    size_t found;     /* so far */
    uint32_t largest; /* the largest magnitude so far, collected or not */
};

/* What a step of momentum SGD multiplies by. */
struct syn_descent {
    float lr;
    float momentum;
    float scale; /* of the gradient */
    float weight_decay;
};

struct syn_kernels {
    const char *name;

    /* sum[i] = kept[i] + scale * gradient[i], and a scan of the sums. sum may be kept itself.
     *   past_caches  sum is too large for the caches: bypass them when writing */
    void (*accumulate)(float *sum, const float *kept, const float *gradient, float scale,
                       size_t count, bool past_caches, struct syn_scan *scan);

    /*     velocity_out[i] = momentum * velocity[i] + scale * gradient[i]
     *     sum[i] = kept[i] + velocity_out[i]
     * The scan is of the sums; its largest magnitude covers both.
     *   sum  NULL: the sums are scanned but not stored */
    void (*accumulate_velocity)(float *sum, float *velocity_out, const float *kept,
                                const float *velocity, const float *gradient, float momentum,
                                float scale, size_t count, bool past_caches, struct syn_scan *scan);

    /* Scan x. */
    void (*scan)(const float *x, size_t count, struct syn_scan *scan);

    /* sum[i] = a[i] + b[i]; returns the largest magnitude among the sums. sum may be a or b. */
    uint32_t (*add)(float *sum, const float *a, const float *b, size_t count);

    /* To IEEE half precision, round to nearest even. Finite values beyond the largest half (65504)
     * become that value; error feedback keeps the rest. */
    void (*to_half)(uint16_t *half, const float *x, size_t count);

    void (*from_half)(float *x, const uint16_t *half, size_t count);

    /*     memory[i] = momentum * memory[i] + (scale * gradient[i] + weight_decay * weights[i])
     *     weights[i] -= lr * memory[i] */
    void (*descend)(struct syn_descent step, const float *gradient, float *weights, float *memory,
                    size_t count);

    /* The same, and what the next step would then make of the weights, which it does not touch. */
    void (*descend_and_foresee)(struct syn_descent step, const float *gradient, float *weights,
                                float *memory, struct syn_descent next, const float *next_gradient,
                                float *result, size_t count);
};

extern const struct syn_kernels syn_kernels_portable;

/* The vector set of this machine, or NULL if it has none. */
const struct syn_kernels *syn_kernels_vector(void);

/* The best set for this machine. */
const struct syn_kernels *syn_kernels(void);

/* The first of count floats that is not finite, or count. */
size_t syn_first_not_finite(const float *x, size_t count);

#endif

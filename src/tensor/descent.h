/* The loops of momentum SGD, compiled once for every set of kernels. Compilers vectorize them as
 * written; every product is rounded before it is added, hence the same bits at any width. */
#ifndef SYN_TENSOR_DESCENT_H
#define SYN_TENSOR_DESCENT_H

#include "tensor/kernels.h"

#define SYN_DESCENT_LOOP static inline __attribute__((always_inline))

SYN_DESCENT_LOOP void syn_descend(struct syn_descent step, const float *restrict gradient,
                                  float *restrict weights, float *restrict memory, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        memory[i] =
            step.momentum * memory[i] + (step.scale * gradient[i] + step.weight_decay * weights[i]);
        weights[i] -= step.lr * memory[i];
    }
}

SYN_DESCENT_LOOP void syn_descend_and_foresee(struct syn_descent step,
                                              const float *restrict gradient,
                                              float *restrict weights, float *restrict memory,
                                              struct syn_descent next,
                                              const float *restrict next_gradient,
                                              float *restrict result, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        float m =
            step.momentum * memory[i] + (step.scale * gradient[i] + step.weight_decay * weights[i]);
        float w = weights[i] - step.lr * m;
        memory[i] = m;
        weights[i] = w;
        result[i] = w - next.lr * (next.momentum * m +
                                   (next.scale * next_gradient[i] + next.weight_decay * w));
    }
}

#endif

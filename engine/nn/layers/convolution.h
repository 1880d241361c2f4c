/* The ways of a convolution: by Winograd's method, where the kernel is 3x3 or 5x5 with stride 1;
 * as a product of matrices, where it is a single pixel and our product is the faster; or by
 * oneDNN's direct kernels, with one of our own where those fail. */
#ifndef SYN_NN_LAYERS_CONVOLUTION_H
#define SYN_NN_LAYERS_CONVOLUTION_H

#include "engine/nn/emit.h"

/* Its arrays. */
enum { CONVOLUTION_WEIGHT, CONVOLUTION_BIAS };

/* Whether Winograd's method can do it, and gains by it. */
bool winograd_fits(const struct plan *plan, const struct node *node);
void winograd_forward(struct plan *plan, const struct node *node);
void winograd_backward(struct plan *plan, const struct node *node);

/* Whether the kernel is a single pixel, and this machine's set of kernels is fast at that. */
bool pointwise_fits(const struct plan *plan, const struct node *node);
void pointwise_forward(struct plan *plan, const struct node *node);
void pointwise_backward(struct plan *plan, const struct node *node);

void direct_forward(struct plan *plan, const struct node *node);
void direct_backward(struct plan *plan, const struct node *node);

/* The gradient by the weights, if the input is the caller's images. */
void few_inputs_backward_weights(struct plan *plan, const struct node *node);

/* The gradient by the bias, if there is one. */
void convolution_backward_bias(struct plan *plan, const struct node *node);

/* Billions of multiplications and additions of one pass by the direct method. */
double convolution_gflop(const struct plan *plan, const struct node *node);

/* One of our own ways: how its kernels are called, and what they all know. */
struct convolution_way {
    const char *name;
    const void *state;
    size_t state_bytes;
};

/* Add one of its kernels. */
void convolution_add(struct plan *plan, const struct node *node, const char *work, kernel_run *run,
                     double gflop, struct convolution_way way, const struct place *places,
                     size_t count);

/* Add the kernel that brings the weights into the form that the others read.
 * Returns where that is: an array of so many floats. */
struct place convolution_add_filter(struct plan *plan, const struct node *node, const char *work,
                                    kernel_run *run, struct convolution_way way, size_t floats);

#endif

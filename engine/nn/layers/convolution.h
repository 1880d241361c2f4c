/* How a convolution is computed: by Winograd's method, if the kernel is 3x3 or 5x5 with stride 1;
 * as a matrix product, if the kernel is 1x1 and our product is faster; or by oneDNN's direct
 * kernels, with one of our own where oneDNN has none. */
#ifndef SYN_NN_LAYERS_CONVOLUTION_H
#define SYN_NN_LAYERS_CONVOLUTION_H

#include "engine/nn/emit.h"

/* Its arrays. */
enum { CONVOLUTION_WEIGHT, CONVOLUTION_BIAS };

/* Whether Winograd's method applies and is faster. */
bool winograd_fits(const struct plan *plan, const struct node *node);
void winograd_forward(struct plan *plan, const struct node *node);
void winograd_backward(struct plan *plan, const struct node *node);

/* Whether the kernel is 1x1 and this machine's set of kernels is fast for it. */
bool pointwise_fits(const struct plan *plan, const struct node *node);
void pointwise_forward(struct plan *plan, const struct node *node);
void pointwise_backward(struct plan *plan, const struct node *node);

void direct_forward(struct plan *plan, const struct node *node);
void direct_backward(struct plan *plan, const struct node *node);

/* The gradient w.r.t. the weights, if the input is the caller's images. */
void few_inputs_backward_weights(struct plan *plan, const struct node *node);

/* The gradient w.r.t. the bias, if there is one. */
void convolution_backward_bias(struct plan *plan, const struct node *node);

/* Billions of multiplications and additions of one pass by the direct method. */
double convolution_gflop(const struct plan *plan, const struct node *node);

/* One of our own methods: the name of its kernels, and the state they share. */
struct convolution_way {
    const char *name;
    const void *state;
    size_t state_bytes;
};

/* Add one of its kernels. */
void convolution_add(struct plan *plan, const struct node *node, const char *work, kernel_run *run,
                     double gflop, struct convolution_way way, const struct place *places,
                     size_t count);

/* Add the kernel that converts the weights to the form that the others read. Returns where the
 * result is: an array of that many floats. */
struct place convolution_add_filter(struct plan *plan, const struct node *node, const char *work,
                                    kernel_run *run, struct convolution_way way, size_t floats);

#endif

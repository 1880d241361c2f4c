/* oneDNN's primitives as kernels of a plan, without exposing oneDNN's types: its C interface
 * changed from version 2 to version 3, and layers need not know. Never uses a reference
 * implementation if there is another: with layout "any", oneDNN 2.6 offers one for some gradients
 * that takes a thousand times as long. */
#ifndef SYN_NN_ONEDNN_H
#define SYN_NN_ONEDNN_H

#include <stdbool.h>

#include "engine/nn/emit.h"

struct onednn;

/* Set on success only; onednn_close(NULL) is harmless. */
enum syn_status onednn_open(struct onednn **onednn);
void onednn_close(struct onednn *onednn);

/* Memory orders of a node's output: plain [row][channel][height][width], and in blocks of eight
 * channels. */
enum onednn_order { ONEDNN_PLAIN, ONEDNN_BLOCKED };

enum onednn_kind { ONEDNN_CONVOLUTION, ONEDNN_MEAN, ONEDNN_BATCH_NORM };

/* A backward pass computes the gradient w.r.t. the input or the weights; for batch norm, both at
 * once. */
enum onednn_pass { ONEDNN_FORWARD, ONEDNN_BACKWARD_DATA, ONEDNN_BACKWARD_WEIGHTS };

/* What a layer has to compute. Shapes are those of the node and of its first input; the batch and
 * the training flag are the plan's. */
struct onednn_operation {
    enum onednn_kind kind;
    enum onednn_pass pass;
    enum onednn_order x; /* the input's, and its gradient's */
    enum onednn_order y;
    size_t kernel[2]; /* height, width; like stride and padding, not for batch norm */
    size_t stride[2];
    size_t padding[2];
    float epsilon; /* of batch norm */
    bool bias;     /* of a convolution */
    bool relu;     /* max(0, x) on the result; in a backward pass, batch norm only */
};

/* A chosen implementation: oneDNN's own type, which only onednn.c looks into. */
struct dnnl_primitive_desc;

/* The first implementation of a node's operation that is not a reference one; if there is none,
 * NULL, or the reference if that is acceptable. Must be passed to onednn_add() or
 * onednn_forget(). */
struct dnnl_primitive_desc *onednn_choose(struct plan *plan, const struct node *node,
                                          const struct onednn_operation *operation,
                                          bool reference_will_do);

/* NULL is harmless. */
void onednn_forget(struct dnnl_primitive_desc *primitive);

/* Floats that the forward pass of batch norm keeps for the backward one, at least 1. */
size_t onednn_workspace(struct dnnl_primitive_desc *primitive);

/* The role of an array in a primitive; D marks the gradient w.r.t. it. */
enum onednn_role {
    ONEDNN_X,
    ONEDNN_Y,
    ONEDNN_WEIGHTS, /* of a convolution, in plain order */
    ONEDNN_BIAS,
    ONEDNN_SCALE, /* weight and bias of batch norm */
    ONEDNN_SHIFT,
    ONEDNN_BACKWARD_SHIFT, /* the bias in the backward pass, where some versions require it */
    ONEDNN_MEANS,
    ONEDNN_VARIANCES,
    ONEDNN_WORKSPACE,
    ONEDNN_DX,
    ONEDNN_DY,
    ONEDNN_DWEIGHTS,
    ONEDNN_DBIAS,
    ONEDNN_DSCALE,
    ONEDNN_DSHIFT
};

struct onednn_argument {
    enum onednn_role role;
    struct place place;
};

/* Add a primitive, which the plan then owns, and copies of the weights or of their gradient if it
 * needs those in another order. NULL fails the plan. */
void onednn_add(struct plan *plan, const struct node *node, const char *work, double gflop,
                struct dnnl_primitive_desc *primitive, const struct onednn_argument *arguments,
                size_t count);

/* Add a copy of an array with the shape of owner's output from that order to the other one. */
void onednn_add_reorder(struct plan *plan, const struct node *node, const char *work,
                        const struct node *owner, enum onednn_order order, struct place from,
                        struct place to);

/* C [rows][columns] = A B (+ C), row by row in memory; 't' for a transposed factor. */
struct onednn_product {
    char transpose_a;
    char transpose_b;
    size_t rows;
    size_t columns;
    size_t depth;
    size_t a_row; /* floats from one stored row to the next */
    size_t b_row;
    size_t c_row;
    bool accumulate;
};

enum syn_status onednn_multiply(const struct onednn_product *product, const float *a,
                                const float *b, float *c);

/* The name under which products are listed. */
#define ONEDNN_PRODUCT "sgemm"

#endif

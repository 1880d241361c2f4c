/* oneDNN's primitives as kernels of a plan. Never accepts a reference implementation where there is
 * another: with layout "any", oneDNN 2.6 offers one for some gradients that takes a thousand times
 * as long. */
#ifndef SYN_NN_ONEDNN_H
#define SYN_NN_ONEDNN_H

#include <stdbool.h>

#include <oneapi/dnnl/dnnl.h>

#include "engine/nn/emit.h"

struct onednn {
    dnnl_engine_t engine;
    dnnl_stream_t stream;
    dnnl_primitive_attr_t plain;     /* scratch memory comes from the plan */
    dnnl_primitive_attr_t with_relu; /* that, and max(0, x) on the result */
};

enum syn_status onednn_open(struct onednn *onednn);
void onednn_close(struct onednn *onednn);

/* A node's output as oneDNN describes it: in plain order, in blocks of eight channels. */
dnnl_memory_desc_t onednn_plain(const struct plan *plan, const struct node *node);
dnnl_memory_desc_t onednn_blocked(const struct plan *plan, const struct node *node);

/* An array of floats of that shape, in plain order. */
dnnl_memory_desc_t onednn_array(int dimensions, const dnnl_dims_t sizes);

/* The first implementation of an operation that is not a reference one; if there is none, NULL, or
 * the reference if that will do. To be destroyed or handed to onednn_add(). */
dnnl_primitive_desc_t onednn_choose(struct plan *plan, const void *operation,
                                    dnnl_primitive_attr_t attributes, dnnl_primitive_desc_t hint,
                                    bool reference_will_do);

struct onednn_argument {
    int index; /* DNNL_ARG_SRC, ... */
    struct place place;
};

/* Add a primitive; primitive becomes the plan's. NULL fails the plan. */
void onednn_add(struct plan *plan, const struct node *node, const char *work, double gflop,
                dnnl_primitive_desc_t primitive, const struct onednn_argument *arguments,
                size_t count);

/* Add a copy from one order of memory to another; nothing if they are the same place. */
void onednn_add_reorder(struct plan *plan, const struct node *node, const char *work,
                        dnnl_memory_desc_t from_order, struct place from,
                        dnnl_memory_desc_t to_order, struct place to);

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

/* What the files that implement onednn.h share. Most of it differs between versions 2 and 3 of
 * oneDNN's C interface and is in onednn_v2.c or onednn_v3.c, of which CMake compiles the one that
 * fits; onednn.c and onednn_choose.c are the same for both. */
#ifndef SYN_NN_ONEDNN_INSIDE_H
#define SYN_NN_ONEDNN_INSIDE_H

#include <stdbool.h>

#include <oneapi/dnnl/dnnl.h>

#include "engine/nn/onednn.h"

/* Shape and order of an array in memory, lent: a public struct in version 2, a handle in version
 * 3. */
#if DNNL_VERSION_MAJOR < 3
typedef const dnnl_memory_desc_t *onednn_memory;
#else
typedef const_dnnl_memory_desc_t onednn_memory;
#endif

/* An array of floats; NULL if oneDNN does not support it, or if there is no memory. Must be
 * freed. */
onednn_memory onednn_memory_make(int dimensions, const dnnl_dims_t sizes, dnnl_format_tag_t order);
void onednn_memory_free(onednn_memory memory); /* NULL is harmless */

struct onednn {
    dnnl_engine_t engine;
    dnnl_stream_t stream;
    dnnl_primitive_attr_t plain;     /* scratch memory comes from the plan */
    dnnl_primitive_attr_t with_relu; /* the same, with max(0, x) on the result */
};

/* An array with the shape of a node's output; the weights of a convolution. Otherwise like
 * onednn_memory_make(). */
onednn_memory onednn_image(const struct plan *plan, const struct node *node,
                           enum onednn_order order);
onednn_memory onednn_weights(const struct plan *plan, const struct node *node,
                             dnnl_format_tag_t order);

/* oneDNN's name of an implementation; lives as long as the primitive. */
const char *onednn_implementation(const_dnnl_primitive_desc_t primitive);

/* For onednn_first(): whether this is a reference implementation. */
bool onednn_is_reference(const_dnnl_primitive_desc_t primitive);

/* An operation in oneDNN's terms. */
struct onednn_task {
    enum onednn_kind kind;
    enum onednn_pass pass;
    dnnl_prop_kind_t forward; /* the kind of forward pass */
    onednn_memory x;          /* and the gradient w.r.t. it */
    onednn_memory y;
    onednn_memory weights; /* these two for a convolution only */
    onednn_memory bias;    /* NULL if it has none */
    dnnl_dims_t kernel;
    dnnl_dims_t stride;
    dnnl_dims_t dilation;
    dnnl_dims_t padding;
    float epsilon;
    unsigned flags; /* of batch norm */
};

/* Like onednn_choose().
 *   hint  a forward pass of the same operation, for a backward pass; else NULL */
dnnl_primitive_desc_t onednn_first(const struct onednn_task *task, dnnl_engine_t engine,
                                   dnnl_primitive_attr_t attributes, dnnl_primitive_desc_t hint,
                                   bool reference_will_do);

/* Whether primitives with such an argument must be given it. */
bool onednn_takes(enum onednn_role role);

/* Append max(0, x). */
dnnl_status_t onednn_append_relu(dnnl_post_ops_t operations);

#endif

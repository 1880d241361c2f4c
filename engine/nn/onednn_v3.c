/* oneDNN 3: the first implementation of an operation is created directly, and can be advanced to
 * the next. */
#include "engine/nn/onednn_inside.h"

onednn_memory onednn_memory_make(int dimensions, const dnnl_dims_t sizes, dnnl_format_tag_t order)
{
    dnnl_memory_desc_t memory = NULL;
    dnnl_memory_desc_create_with_tag(&memory, dimensions, sizes, dnnl_f32, order);
    return memory;
}

void onednn_memory_free(onednn_memory memory)
{
    if (memory)
        dnnl_memory_desc_destroy((dnnl_memory_desc_t)memory);
}

/* The last arguments of every function that creates a primitive. */
struct asked {
    dnnl_engine_t engine;
    dnnl_primitive_attr_t attributes;
    dnnl_primitive_desc_t hint;
};

static dnnl_status_t create_convolution(const struct onednn_task *t, const struct asked *a,
                                        dnnl_primitive_desc_t *made)
{
    switch (t->pass) {
    case ONEDNN_BACKWARD_DATA:
        return dnnl_convolution_backward_data_primitive_desc_create(
            made, a->engine, dnnl_convolution_direct, t->x, t->weights, t->y, t->stride,
            t->dilation, t->padding, t->padding, a->hint, a->attributes);
    case ONEDNN_BACKWARD_WEIGHTS:
        return dnnl_convolution_backward_weights_primitive_desc_create(
            made, a->engine, dnnl_convolution_direct, t->x, t->weights, t->bias, t->y, t->stride,
            t->dilation, t->padding, t->padding, a->hint, a->attributes);
    default:
        return dnnl_convolution_forward_primitive_desc_create(
            made, a->engine, t->forward, dnnl_convolution_direct, t->x, t->weights, t->bias, t->y,
            t->stride, t->dilation, t->padding, t->padding, a->attributes);
    }
}

static dnnl_status_t create_mean(const struct onednn_task *t, const struct asked *a,
                                 dnnl_primitive_desc_t *made)
{
    if (t->pass == ONEDNN_FORWARD)
        return dnnl_pooling_forward_primitive_desc_create(
            made, a->engine, t->forward, dnnl_pooling_avg_include_padding, t->x, t->y, t->stride,
            t->kernel, t->dilation, t->padding, t->padding, a->attributes);
    return dnnl_pooling_backward_primitive_desc_create(
        made, a->engine, dnnl_pooling_avg_include_padding, t->x, t->y, t->stride, t->kernel,
        t->dilation, t->padding, t->padding, a->hint, a->attributes);
}

static dnnl_status_t create_batch_norm(const struct onednn_task *t, const struct asked *a,
                                       dnnl_primitive_desc_t *made)
{
    if (t->pass == ONEDNN_FORWARD)
        return dnnl_batch_normalization_forward_primitive_desc_create(
            made, a->engine, t->forward, t->x, t->y, t->epsilon, t->flags, a->attributes);
    return dnnl_batch_normalization_backward_primitive_desc_create(
        made, a->engine, dnnl_backward, t->x, t->y, t->x, t->epsilon, t->flags, a->hint,
        a->attributes);
}

static dnnl_status_t create(const struct onednn_task *task, const struct asked *asked,
                            dnnl_primitive_desc_t *made)
{
    switch (task->kind) {
    case ONEDNN_CONVOLUTION:
        return create_convolution(task, asked, made);
    case ONEDNN_MEAN:
        return create_mean(task, asked, made);
    default:
        return create_batch_norm(task, asked, made);
    }
}

/* References come last, so that the last implementation is the reference if there is no other. */
dnnl_primitive_desc_t onednn_first(const struct onednn_task *task, dnnl_engine_t engine,
                                   dnnl_primitive_attr_t attributes, dnnl_primitive_desc_t hint,
                                   bool reference_will_do)
{
    struct asked asked = {engine, attributes, hint};
    dnnl_primitive_desc_t chosen;
    if (create(task, &asked, &chosen) != dnnl_success)
        return NULL;
    while (onednn_is_reference(chosen)) {
        if (dnnl_primitive_desc_next_impl(chosen) == dnnl_success)
            continue;
        if (reference_will_do)
            return chosen;
        dnnl_primitive_desc_destroy(chosen);
        return NULL;
    }
    return chosen;
}

bool onednn_takes(enum onednn_role role)
{
    return role != ONEDNN_BACKWARD_SHIFT;
}

dnnl_status_t onednn_append_relu(dnnl_post_ops_t operations)
{
    return dnnl_post_ops_append_eltwise(operations, dnnl_eltwise_relu, 0, 0);
}

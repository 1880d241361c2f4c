/* oneDNN 2: an operation is described in a struct, and an iterator walks its implementations. */
#include <stdlib.h>

#include "engine/nn/onednn_inside.h"

onednn_memory onednn_memory_make(int dimensions, const dnnl_dims_t sizes, dnnl_format_tag_t order)
{
    dnnl_memory_desc_t *memory = malloc(sizeof *memory);
    if (memory &&
        dnnl_memory_desc_init_by_tag(memory, dimensions, sizes, dnnl_f32, order) != dnnl_success) {
        free(memory);
        return NULL;
    }
    return memory;
}

void onednn_memory_free(onednn_memory memory)
{
    free((void *)memory);
}

union description {
    dnnl_convolution_desc_t convolution;
    dnnl_pooling_desc_t pooling;
    dnnl_batch_normalization_desc_t batch_norm;
};

static dnnl_status_t describe_convolution(const struct onednn_task *t, dnnl_convolution_desc_t *d)
{
    switch (t->pass) {
    case ONEDNN_BACKWARD_DATA:
        return dnnl_convolution_backward_data_desc_init(
            d, dnnl_convolution_direct, t->x, t->weights, t->y, t->stride, t->padding, t->padding);
    case ONEDNN_BACKWARD_WEIGHTS:
        return dnnl_convolution_backward_weights_desc_init(d, dnnl_convolution_direct, t->x,
                                                           t->weights, t->bias, t->y, t->stride,
                                                           t->padding, t->padding);
    default:
        return dnnl_convolution_forward_desc_init(d, t->forward, dnnl_convolution_direct, t->x,
                                                  t->weights, t->bias, t->y, t->stride, t->padding,
                                                  t->padding);
    }
}

static dnnl_status_t describe_mean(const struct onednn_task *t, dnnl_pooling_desc_t *d)
{
    if (t->pass == ONEDNN_FORWARD)
        return dnnl_pooling_forward_desc_init(d, t->forward, dnnl_pooling_avg_include_padding, t->x,
                                              t->y, t->stride, t->kernel, t->padding, t->padding);
    return dnnl_pooling_backward_desc_init(d, dnnl_pooling_avg_include_padding, t->x, t->y,
                                           t->stride, t->kernel, t->padding, t->padding);
}

static dnnl_status_t describe_batch_norm(const struct onednn_task *t,
                                         dnnl_batch_normalization_desc_t *d)
{
    if (t->pass == ONEDNN_FORWARD)
        return dnnl_batch_normalization_forward_desc_init(d, t->forward, t->x, t->epsilon,
                                                          t->flags);
    return dnnl_batch_normalization_backward_desc_init(d, dnnl_backward, t->x, t->x, t->epsilon,
                                                       t->flags);
}

static dnnl_status_t describe(const struct onednn_task *task, union description *description)
{
    switch (task->kind) {
    case ONEDNN_CONVOLUTION:
        return describe_convolution(task, &description->convolution);
    case ONEDNN_MEAN:
        return describe_mean(task, &description->pooling);
    default:
        return describe_batch_norm(task, &description->batch_norm);
    }
}

dnnl_primitive_desc_t onednn_first(const struct onednn_task *task, dnnl_engine_t engine,
                                   dnnl_primitive_attr_t attributes, dnnl_primitive_desc_t hint,
                                   bool reference_will_do)
{
    union description description;
    dnnl_primitive_desc_iterator_t each;
    if (describe(task, &description) != dnnl_success ||
        dnnl_primitive_desc_iterator_create(&each, &description, attributes, engine, hint) !=
            dnnl_success)
        return NULL;
    dnnl_primitive_desc_t reference = NULL;
    dnnl_primitive_desc_t chosen = NULL;
    do {
        dnnl_primitive_desc_t candidate = dnnl_primitive_desc_iterator_fetch(each);
        if (candidate && !onednn_is_reference(candidate))
            chosen = candidate;
        else if (candidate && !reference && reference_will_do)
            reference = candidate;
        else
            dnnl_primitive_desc_destroy(candidate);
    } while (!chosen && dnnl_primitive_desc_iterator_next(each) == dnnl_success);
    dnnl_primitive_desc_iterator_destroy(each);
    if (chosen && reference)
        dnnl_primitive_desc_destroy(reference);
    return chosen ? chosen : reference;
}

bool onednn_takes(enum onednn_role role)
{
    (void)role;
    return true;
}

dnnl_status_t onednn_append_relu(dnnl_post_ops_t operations)
{
    return dnnl_post_ops_append_eltwise(operations, 1, dnnl_eltwise_relu, 0, 0);
}

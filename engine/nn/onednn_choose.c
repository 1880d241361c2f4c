/* Choosing oneDNN's implementation of an operation: the operation in oneDNN's terms, and the first
 * implementation that is not a reference. */
#include <string.h>

#include "engine/nn/onednn_inside.h"

onednn_memory onednn_image(const struct plan *plan, const struct node *node,
                           enum onednn_order order)
{
    dnnl_dims_t sizes = {(dnnl_dim_t)plan_rows(plan, node), (dnnl_dim_t)node->shape.channels,
                         (dnnl_dim_t)node->shape.height, (dnnl_dim_t)node->shape.width};
    return onednn_memory_make(4, sizes, order == ONEDNN_PLAIN ? dnnl_nchw : dnnl_nChw8c);
}

static const struct node *input(const struct plan *plan, const struct node *node)
{
    return &plan->graph->nodes[node->inputs[0]];
}

onednn_memory onednn_weights(const struct plan *plan, const struct node *node,
                             dnnl_format_tag_t order)
{
    struct syn_convolution c = node->options.convolution;
    dnnl_dims_t sizes = {(dnnl_dim_t)c.outputs, (dnnl_dim_t)input(plan, node)->shape.channels,
                         (dnnl_dim_t)c.kernel, (dnnl_dim_t)c.kernel};
    return onednn_memory_make(4, sizes, order);
}

const char *onednn_implementation(const_dnnl_primitive_desc_t primitive)
{
    const char *name = "unknown";
    dnnl_primitive_desc_query(primitive, dnnl_query_impl_info_str, 0, (void *)&name);
    return name;
}

bool onednn_is_reference(const_dnnl_primitive_desc_t primitive)
{
    return strncmp(onednn_implementation(primitive), "ref", 3) == 0;
}

static void set_sizes(dnnl_dims_t to, const size_t from[2])
{
    to[0] = (dnnl_dim_t)from[0];
    to[1] = (dnnl_dim_t)from[1];
}

static unsigned batch_norm_flags(const struct plan *plan, const struct onednn_operation *o)
{
    unsigned relu = o->relu ? (unsigned)dnnl_fuse_norm_relu : 0u;
    unsigned given = plan->settings.training ? 0u : (unsigned)dnnl_use_global_stats;
    return (unsigned)dnnl_use_scale | (unsigned)dnnl_use_shift | relu | given;
}

/* The task must be cleared, even after a failure. */
static bool set_task(const struct plan *plan, const struct node *node,
                     const struct onednn_operation *o, struct onednn_task *task)
{
    *task = (struct onednn_task){
        .kind = o->kind,
        .pass = o->pass,
        .forward = plan->settings.training ? dnnl_forward_training : dnnl_forward_inference,
        .x = onednn_image(plan, input(plan, node), o->x),
        .y = onednn_image(plan, node, o->y),
        .epsilon = o->epsilon,
        .flags = batch_norm_flags(plan, o),
    };
    set_sizes(task->kernel, o->kernel);
    set_sizes(task->stride, o->stride);
    set_sizes(task->padding, o->padding);
    if (o->kind == ONEDNN_CONVOLUTION)
        task->weights = onednn_weights(plan, node, dnnl_format_tag_any);
    dnnl_dims_t outputs = {(dnnl_dim_t)node->shape.channels};
    if (o->bias)
        task->bias = onednn_memory_make(1, outputs, dnnl_a);
    return task->x && task->y && (task->weights || o->kind != ONEDNN_CONVOLUTION) &&
           (task->bias || !o->bias);
}

static void clear_task(const struct onednn_task *task)
{
    onednn_memory_free(task->bias);
    onednn_memory_free(task->weights);
    onednn_memory_free(task->y);
    onednn_memory_free(task->x);
}

static dnnl_primitive_desc_t choose_with_hint(struct plan *plan, const struct node *node,
                                              const struct onednn_operation *o,
                                              dnnl_primitive_desc_t hint, bool reference_will_do)
{
    bool appended = o->relu && o->kind != ONEDNN_BATCH_NORM; /* which has a flag for it */
    struct onednn_task task;
    dnnl_primitive_desc_t chosen = NULL;
    if (set_task(plan, node, o, &task))
        chosen = onednn_first(&task, plan->onednn->engine,
                              appended ? plan->onednn->with_relu : plan->onednn->plain, hint,
                              reference_will_do);
    clear_task(&task);
    return chosen;
}

dnnl_primitive_desc_t onednn_choose(struct plan *plan, const struct node *node,
                                    const struct onednn_operation *operation,
                                    bool reference_will_do)
{
    if (plan->status != SYN_OK)
        return NULL;
    if (operation->pass == ONEDNN_FORWARD)
        return choose_with_hint(plan, node, operation, NULL, reference_will_do);
    /* oneDNN needs a forward pass as a hint before it can plan a backward one; any implementation
     * works. */
    struct onednn_operation forward = *operation;
    forward.pass = ONEDNN_FORWARD;
    dnnl_primitive_desc_t hint = choose_with_hint(plan, node, &forward, NULL, true);
    if (!hint)
        return NULL;
    dnnl_primitive_desc_t chosen = choose_with_hint(plan, node, operation, hint, reference_will_do);
    onednn_forget(hint);
    return chosen;
}

void onednn_forget(dnnl_primitive_desc_t primitive)
{
    if (primitive)
        dnnl_primitive_desc_destroy(primitive);
}

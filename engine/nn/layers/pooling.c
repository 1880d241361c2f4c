/* Maximum or mean of windows. The maximum remembers which value it took (oneDNN's workspace), so
 * that neither input nor output is needed for its gradient. */
#include "engine/nn/onednn.h"

struct window {
    dnnl_dims_t kernel;
    dnnl_dims_t stride;
    dnnl_dims_t padding;
};

static struct window window(const struct syn_graph *graph, const struct node *node)
{
    const struct shape *from = graph_from(graph, node, 0);
    struct syn_pooling w = node->options.pooling.window;
    dnnl_dim_t kernel = (dnnl_dim_t)w.kernel;
    dnnl_dim_t stride = (dnnl_dim_t)(w.stride ? w.stride : w.kernel);
    dnnl_dim_t padding = (dnnl_dim_t)w.padding;
    if (node->options.pooling.whole)
        return (struct window){.kernel = {(dnnl_dim_t)from->height, (dnnl_dim_t)from->width},
                               .stride = {1, 1}};
    return (struct window){{kernel, kernel}, {stride, stride}, {padding, padding}};
}

static size_t outputs(size_t size, const struct window *w, size_t axis)
{
    return (size + 2 * (size_t)w->padding[axis] - (size_t)w->kernel[axis]) /
               (size_t)w->stride[axis] +
           1;
}

static bool shape(struct syn_graph *graph, struct node *node)
{
    const struct shape *from = graph_from(graph, node, 0);
    struct syn_pooling asked = node->options.pooling.window;
    size_t least = from->height < from->width ? from->height : from->width;
    if (!node->options.pooling.whole && (asked.kernel == 0 || 2 * asked.padding > asked.kernel ||
                                         asked.kernel > least + 2 * asked.padding))
        return graph_refuse(graph, "%s: windows of %zux%zu with padding %zu on %zux%zu values",
                            node->name, asked.kernel, asked.kernel, asked.padding, from->height,
                            from->width);
    struct window w = window(graph, node);
    node->shape = *from;
    node->shape.height = outputs(from->height, &w, 0);
    node->shape.width = outputs(from->width, &w, 1);
    return true;
}

static dnnl_alg_kind_t algorithm(const struct node *node)
{
    return node->options.pooling.average ? dnnl_pooling_avg_include_padding : dnnl_pooling_max;
}

static dnnl_primitive_desc_t describe_forward(struct plan *plan, const struct node *node)
{
    struct window w = window(plan->graph, node);
    dnnl_memory_desc_t x = onednn_blocked(plan, &plan->graph->nodes[node->inputs[0]]);
    dnnl_memory_desc_t y = onednn_blocked(plan, node);
    dnnl_pooling_desc_t operation;
    dnnl_prop_kind_t kind =
        plan->settings.training ? dnnl_forward_training : dnnl_forward_inference;
    dnnl_pooling_forward_desc_init(&operation, kind, algorithm(node), &x, &y, w.stride, w.kernel,
                                   w.padding, w.padding);
    return onednn_choose(plan, &operation, plan->onednn->plain, NULL, true);
}

static bool has_workspace(const struct plan *plan, const struct node *node)
{
    return plan->settings.training && !node->options.pooling.average;
}

static size_t workspace_floats(dnnl_primitive_desc_t primitive)
{
    const dnnl_memory_desc_t *order =
        primitive ? dnnl_primitive_desc_query_md(primitive, dnnl_query_workspace_md, 0) : NULL;
    return order ? dnnl_memory_desc_get_size(order) / sizeof(float) + 1 : 1;
}

static void forward(struct plan *plan, const struct node *node)
{
    dnnl_primitive_desc_t primitive = describe_forward(plan, node);
    struct onednn_argument arguments[] = {{DNNL_ARG_SRC, plan_input(plan, node, 0)},
                                          {DNNL_ARG_DST, plan_new_output(plan, node)},
                                          {DNNL_ARG_WORKSPACE, {REGION_ARENA, 0}}};
    size_t count = 2;
    if (has_workspace(plan, node)) {
        struct place workspace = plan_buffer(plan, workspace_floats(primitive));
        plan->values[node->number].kept[0] = workspace;
        arguments[count++].place = workspace;
    }
    onednn_add(plan, node, "forward", 0, primitive, arguments, count);
}

static void backward(struct plan *plan, const struct node *node)
{
    struct window w = window(plan->graph, node);
    dnnl_memory_desc_t x = onednn_blocked(plan, &plan->graph->nodes[node->inputs[0]]);
    dnnl_memory_desc_t y = onednn_blocked(plan, node);
    dnnl_pooling_desc_t operation;
    dnnl_pooling_backward_desc_init(&operation, algorithm(node), &x, &y, w.stride, w.kernel,
                                    w.padding, w.padding);
    dnnl_primitive_desc_t hint = describe_forward(plan, node);
    if (!hint)
        return;
    dnnl_primitive_desc_t primitive =
        onednn_choose(plan, &operation, plan->onednn->plain, hint, true);
    dnnl_primitive_desc_destroy(hint);
    struct delivery delivery = plan_deliver_begin(plan, node, 0, 0);
    struct onednn_argument arguments[] = {{DNNL_ARG_DIFF_DST, plan_gradient(plan, node)},
                                          {DNNL_ARG_DIFF_SRC, delivery.to},
                                          {DNNL_ARG_WORKSPACE, plan->values[node->number].kept[0]}};
    onednn_add(plan, node, "backward", 0, primitive, arguments, has_workspace(plan, node) ? 3 : 2);
    plan_deliver_end(plan, node, &delivery);
}

const struct layer_kind layer_pooling = {.name = "pooling",
                                         .help = "maximum or mean of windows",
                                         .shape = shape,
                                         .forward = forward,
                                         .backward = backward};

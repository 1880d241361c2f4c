/* Maximum or mean of windows. */
#include "engine/nn/layers/pooling.h"

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
    size_t most = least + 2 * asked.padding;
    if (!node->options.pooling.average && most > MAX_POOLING_MOST_KERNEL)
        most = MAX_POOLING_MOST_KERNEL;
    if (!node->options.pooling.whole &&
        (asked.kernel == 0 || 2 * asked.padding > asked.kernel || asked.kernel > most))
        return graph_refuse(graph, "%s: windows of %zux%zu with padding %zu on %zux%zu values",
                            node->name, asked.kernel, asked.kernel, asked.padding, from->height,
                            from->width);
    struct window w = window(graph, node);
    node->shape = *from;
    node->shape.height = outputs(from->height, &w, 0);
    node->shape.width = outputs(from->width, &w, 1);
    return true;
}

static dnnl_primitive_desc_t describe_mean(struct plan *plan, const struct node *node)
{
    struct window w = window(plan->graph, node);
    dnnl_memory_desc_t x = onednn_blocked(plan, &plan->graph->nodes[node->inputs[0]]);
    dnnl_memory_desc_t y = onednn_blocked(plan, node);
    dnnl_pooling_desc_t operation;
    dnnl_prop_kind_t kind =
        plan->settings.training ? dnnl_forward_training : dnnl_forward_inference;
    dnnl_pooling_forward_desc_init(&operation, kind, dnnl_pooling_avg_include_padding, &x, &y,
                                   w.stride, w.kernel, w.padding, w.padding);
    return onednn_choose(plan, &operation, plan->onednn->plain, NULL, true);
}

static void forward(struct plan *plan, const struct node *node)
{
    if (!node->options.pooling.average) {
        max_pooling_forward(plan, node);
        return;
    }
    struct onednn_argument arguments[] = {{DNNL_ARG_SRC, plan_input(plan, node, 0)},
                                          {DNNL_ARG_DST, plan_new_output(plan, node)}};
    onednn_add(plan, node, "forward", 0, describe_mean(plan, node), arguments, 2);
}

static void mean_backward(struct plan *plan, const struct node *node)
{
    struct window w = window(plan->graph, node);
    dnnl_memory_desc_t x = onednn_blocked(plan, &plan->graph->nodes[node->inputs[0]]);
    dnnl_memory_desc_t y = onednn_blocked(plan, node);
    dnnl_pooling_desc_t operation;
    dnnl_pooling_backward_desc_init(&operation, dnnl_pooling_avg_include_padding, &x, &y, w.stride,
                                    w.kernel, w.padding, w.padding);
    dnnl_primitive_desc_t hint = describe_mean(plan, node);
    if (!hint)
        return;
    dnnl_primitive_desc_t primitive =
        onednn_choose(plan, &operation, plan->onednn->plain, hint, true);
    dnnl_primitive_desc_destroy(hint);
    struct delivery delivery = plan_deliver_begin(plan, node, 0, 0);
    struct onednn_argument arguments[] = {{DNNL_ARG_DIFF_DST, plan_gradient(plan, node)},
                                          {DNNL_ARG_DIFF_SRC, delivery.to}};
    onednn_add(plan, node, "backward", 0, primitive, arguments, 2);
    plan_deliver_end(plan, node, &delivery);
}

static void backward(struct plan *plan, const struct node *node)
{
    if (node->options.pooling.average)
        mean_backward(plan, node);
    else
        max_pooling_backward(plan, node);
}

const struct layer_kind layer_pooling = {.name = "pooling",
                                         .help = "maximum or mean of windows",
                                         .shape = shape,
                                         .forward = forward,
                                         .backward = backward};

/* Maximum or mean of windows. */
#include "engine/nn/layers/pooling.h"

#include "engine/nn/onednn.h"

struct window {
    size_t kernel[2]; /* height, width */
    size_t stride[2];
    size_t padding[2];
};

static struct window window(const struct syn_graph *graph, const struct node *node)
{
    const struct shape *from = graph_from(graph, node, 0);
    struct syn_pooling w = node->options.pooling.window;
    size_t stride = w.stride ? w.stride : w.kernel;
    if (node->options.pooling.whole)
        return (struct window){.kernel = {from->height, from->width}, .stride = {1, 1}};
    return (struct window){{w.kernel, w.kernel}, {stride, stride}, {w.padding, w.padding}};
}

static size_t outputs(size_t size, const struct window *w, size_t axis)
{
    return (size + 2 * w->padding[axis] - w->kernel[axis]) / w->stride[axis] + 1;
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

static struct dnnl_primitive_desc *choose_mean(struct plan *plan, const struct node *node,
                                               enum onednn_pass pass)
{
    struct window w = window(plan->graph, node);
    struct onednn_operation operation = {.kind = ONEDNN_MEAN,
                                         .pass = pass,
                                         .x = ONEDNN_BLOCKED,
                                         .y = ONEDNN_BLOCKED,
                                         .kernel = {w.kernel[0], w.kernel[1]},
                                         .stride = {w.stride[0], w.stride[1]},
                                         .padding = {w.padding[0], w.padding[1]}};
    return onednn_choose(plan, node, &operation, true);
}

static void forward(struct plan *plan, const struct node *node)
{
    if (!node->options.pooling.average) {
        max_pooling_forward(plan, node);
        return;
    }
    struct onednn_argument arguments[] = {{ONEDNN_X, plan_input(plan, node, 0)},
                                          {ONEDNN_Y, plan_new_output(plan, node)}};
    onednn_add(plan, node, "forward", 0, choose_mean(plan, node, ONEDNN_FORWARD), arguments, 2);
}

static void mean_backward(struct plan *plan, const struct node *node)
{
    struct delivery delivery = plan_deliver_begin(plan, node, 0, 0);
    struct onednn_argument arguments[] = {{ONEDNN_DY, plan_gradient(plan, node)},
                                          {ONEDNN_DX, delivery.to}};
    onednn_add(plan, node, "backward", 0, choose_mean(plan, node, ONEDNN_BACKWARD_DATA), arguments,
               2);
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

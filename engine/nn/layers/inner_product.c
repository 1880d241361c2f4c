/* y = W x + b for every row, as matrix products on the weights in place in the flat array: no copy
 * of the weights, and their gradient is written in place. An image is flattened first. A tied
 * product has the weights of an embedding, and no bias. */
#include "engine/nn/onednn.h"

#include <math.h>
#include <string.h>

enum { WEIGHT, BIAS };
enum { FLAT }; /* kept: the input in plain order */

static bool shape(struct syn_graph *graph, struct node *node)
{
    const struct shape *from = graph_from(graph, node, 0);
    size_t outputs = node->options.product.outputs;
    if (outputs == 0)
        return graph_refuse(graph, "%s: no outputs", node->name);
    if (node->options.product.is_tied) {
        const struct node *embedding = &graph->nodes[node->options.product.embedding];
        if (shape_values(from) != embedding->shape.channels)
            return graph_refuse(graph, "%s: %zu inputs; the vectors of %s have %zu values",
                                node->name, shape_values(from), embedding->name,
                                embedding->shape.channels);
    }
    node->shape =
        (struct shape){.sequence = from->sequence, .channels = outputs, .height = 1, .width = 1};
    return true;
}

static size_t tensors(const struct syn_graph *graph, const struct node *node,
                      struct tensor *tensors)
{
    size_t inputs = shape_values(graph_from(graph, node, 0));
    size_t outputs = node->options.product.outputs;
    double bound = 1 / sqrt((double)inputs);
    if (node->options.product.is_tied)
        return 0;
    tensors[WEIGHT] =
        (struct tensor){SPACE_WEIGHTS, "weight", SHAPE(outputs, inputs), START_UNIFORM, bound};
    tensors[BIAS] = (struct tensor){SPACE_WEIGHTS, "bias", SHAPE(outputs), START_UNIFORM, bound};
    return 2;
}

/* The node whose weights are used. */
static const struct node *owner(const struct plan *plan, const struct node *node)
{
    return node->options.product.is_tied ? &plan->graph->nodes[node->options.product.embedding]
                                         : node;
}

struct state {
    struct onednn_product product;
    size_t padded; /* floats of a row of the result */
};

static enum syn_status run_forward(const struct kernel *kernel, void *const at[], struct call *call)
{
    const struct state *s = kernel->state;
    call->own->elementwise->repeat(at[2], s->product.columns, at[3], s->product.rows, s->padded);
    return onednn_multiply(&s->product, at[0], at[1], at[3]);
}

static enum syn_status run_weights(const struct kernel *kernel, void *const at[], struct call *call)
{
    (void)call;
    const struct state *s = kernel->state;
    return onednn_multiply(&s->product, at[0], at[1], at[2]);
}

/* The gradient w.r.t. the input, or a tied product. Padding channels must be zero, and no product
 * writes them. */
static enum syn_status run_data(const struct kernel *kernel, void *const at[], struct call *call)
{
    (void)call;
    const struct state *s = kernel->state;
    float *to = at[2];
    size_t padding = s->padded - s->product.columns;
    for (size_t row = 0; padding > 0 && row < s->product.rows; row++)
        memset(to + row * s->padded + s->product.columns, 0, padding * sizeof *to);
    return onednn_multiply(&s->product, at[0], at[1], to);
}

static enum syn_status run_bias(const struct kernel *kernel, void *const at[], struct call *call)
{
    const struct state *s = kernel->state;
    float *sums = at[2];
    call->own->elementwise->channel_sums(at[0], s->product.rows, s->padded, 1, sums);
    memcpy(at[1], sums, s->product.columns * sizeof *sums);
    return SYN_OK;
}

static void add(struct plan *plan, const struct node *node, const char *work, kernel_run *run,
                struct state state, const struct place *places, size_t count)
{
    const struct onednn_product *p = &state.product;
    struct kernel kernel = {.node = node,
                            .work = work,
                            .implementation = ONEDNN_PRODUCT,
                            .gflop = 2e-9 * (double)p->rows * (double)p->columns * (double)p->depth,
                            .run = run,
                            .place_count = count};
    memcpy(kernel.places, places, count * sizeof *places);
    plan_add(plan, &kernel, &state, sizeof state);
}

static const struct node *from_node(const struct plan *plan, const struct node *node)
{
    return &plan->graph->nodes[node->inputs[0]];
}

/* Whether the input is in blocks of channels with more than one pixel. */
static bool is_image(const struct plan *plan, const struct node *node)
{
    const struct node *from = from_node(plan, node);
    return from->shape.height * from->shape.width > 1 &&
           plan_output(plan, from).region == REGION_ARENA;
}

/* Floats of a row of the input as the products see it. */
static size_t input_row(const struct plan *plan, const struct node *node)
{
    const struct node *from = from_node(plan, node);
    bool plain = is_image(plan, node) || plan_output(plan, from).region == REGION_IMAGES;
    return plain ? shape_values(&from->shape) : padded_channels(from->shape.channels);
}

static void forward(struct plan *plan, const struct node *node)
{
    const struct node *from = from_node(plan, node);
    struct place *x = &plan->values[node->number].kept[FLAT];
    *x = plan_output(plan, from);
    if (is_image(plan, node)) {
        *x = plan_buffer(plan, plan_rows(plan, from) * shape_values(&from->shape));
        onednn_add_reorder(plan, node, "flatten", from, ONEDNN_BLOCKED, plan_output(plan, from),
                           *x);
    }
    size_t inputs = shape_values(&from->shape);
    size_t padded = padded_channels(node->shape.channels);
    struct state state = {{.transpose_a = 'N',
                           .transpose_b = 'T',
                           .rows = plan_rows(plan, node),
                           .columns = node->shape.channels,
                           .depth = inputs,
                           .a_row = input_row(plan, node),
                           .b_row = inputs,
                           .c_row = padded,
                           .accumulate = !node->options.product.is_tied},
                          padded};
    struct place weights = plan_tensor(plan, owner(plan, node), WEIGHT);
    struct place y = plan_new_output(plan, node);
    if (node->options.product.is_tied) {
        add(plan, node, "forward", run_data, state, (struct place[]){*x, weights, y}, 3);
        return;
    }
    struct place places[] = {*x, weights, plan_tensor(plan, node, BIAS), y};
    add(plan, node, "forward", run_forward, state, places, 4);
}

static void backward_weights(struct plan *plan, const struct node *node)
{
    size_t outputs = node->shape.channels;
    size_t inputs = shape_values(graph_from(plan->graph, node, 0));
    size_t padded = padded_channels(outputs);
    struct place dy = plan_gradient(plan, node);
    struct state weights = {{.transpose_a = 'T',
                             .transpose_b = 'N',
                             .rows = outputs,
                             .columns = inputs,
                             .depth = plan_rows(plan, node),
                             .a_row = padded,
                             .b_row = input_row(plan, node),
                             .c_row = inputs},
                            0};
    struct place weight_places[] = {dy, plan->values[node->number].kept[FLAT],
                                    plan_tensor_gradient(plan, owner(plan, node), WEIGHT)};
    add(plan, node, "backward weights", run_weights, weights, weight_places, 3);
    if (node->options.product.is_tied)
        return;
    struct state bias = {{.rows = plan_rows(plan, node), .columns = outputs}, padded};
    struct place bias_places[] = {dy, plan_tensor_gradient(plan, node, BIAS),
                                  plan_buffer(plan, padded)};
    add(plan, node, "backward bias", run_bias, bias, bias_places, 3);
}

static void backward_data(struct plan *plan, const struct node *node)
{
    const struct node *from = from_node(plan, node);
    bool flat = is_image(plan, node);
    struct delivery delivery = plan_deliver_begin(plan, node, 0, flat ? 0 : DELIVER_ACCUMULATES);
    size_t inputs = shape_values(&from->shape);
    struct state state = {{.transpose_a = 'N',
                           .transpose_b = 'N',
                           .rows = plan_rows(plan, node),
                           .columns = inputs,
                           .depth = node->shape.channels,
                           .a_row = padded_channels(node->shape.channels),
                           .b_row = inputs,
                           .c_row = input_row(plan, node),
                           .accumulate = delivery.accumulate},
                          input_row(plan, node)};
    struct place dx = flat ? plan_buffer(plan, plan_rows(plan, from) * inputs) : delivery.to;
    struct place places[] = {plan_gradient(plan, node),
                             plan_tensor(plan, owner(plan, node), WEIGHT), dx};
    add(plan, node, "backward data", run_data, state, places, 3);
    if (flat)
        onednn_add_reorder(plan, node, "unflatten", from, ONEDNN_PLAIN, dx, delivery.to);
    plan_deliver_end(plan, node, &delivery);
}

static void backward(struct plan *plan, const struct node *node)
{
    backward_weights(plan, node);
    if (plan_wants_gradient(plan, node, 0))
        backward_data(plan, node);
}

const struct layer_kind layer_inner_product = {
    .name = "inner_product",
    .help = "inner product with bias, or with an embedding's weights",
    .shape = shape,
    .tensors = tensors,
    .forward = forward,
    .backward = backward};

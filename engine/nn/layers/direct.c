/* Convolution by oneDNN's direct kernels. Which order of memory a kernel is fast with depends on
 * the shape: each pass tries blocks of channels first (for the images of the caller, plain order
 * before that), then plain order on both sides, and takes the first for which oneDNN has a kernel
 * that is not its reference. Reorders are added where the order is not the one at hand. */
#include "engine/nn/layers/convolution.h"
#include "engine/nn/onednn.h"

/* Orders of input and output to try. */
enum order { PLAIN, BLOCKED };
struct orders {
    enum order x;
    enum order y;
};

static const struct orders choices[] = {{PLAIN, BLOCKED}, {BLOCKED, BLOCKED}, {PLAIN, PLAIN}};
#define CHOICES (sizeof choices / sizeof choices[0])

struct geometry {
    const struct node *from;
    dnnl_memory_desc_t weights; /* any order */
    dnnl_memory_desc_t plain_weights;
    dnnl_memory_desc_t bias;
    dnnl_dims_t stride;
    dnnl_dims_t padding;
    bool has_bias;
    bool relu;
};

static struct geometry geometry(struct plan *plan, const struct node *node)
{
    struct syn_convolution c = node->options.convolution;
    struct geometry g = {.from = &plan->graph->nodes[node->inputs[0]], .has_bias = !c.no_bias};
    dnnl_dim_t stride = (dnnl_dim_t)(c.stride ? c.stride : 1);
    dnnl_dims_t sizes = {(dnnl_dim_t)c.outputs, (dnnl_dim_t)g.from->shape.channels,
                         (dnnl_dim_t)c.kernel, (dnnl_dim_t)c.kernel};
    dnnl_memory_desc_init_by_tag(&g.weights, 4, sizes, dnnl_f32, dnnl_format_tag_any);
    g.plain_weights = onednn_array(4, sizes);
    g.bias = onednn_array(1, sizes);
    g.stride[0] = g.stride[1] = stride;
    g.padding[0] = g.padding[1] = (dnnl_dim_t)c.padding;
    return g;
}

static dnnl_memory_desc_t ordered(const struct plan *plan, const struct node *node,
                                  enum order order)
{
    return order == PLAIN ? onednn_plain(plan, node) : onednn_blocked(plan, node);
}

/* The order in which a node's output lies. */
static enum order native(const struct plan *plan, const struct node *node)
{
    return plan_output(plan, node).region == REGION_IMAGES ? PLAIN : BLOCKED;
}

static dnnl_primitive_desc_t describe_forward(struct plan *plan, const struct node *node,
                                              const struct geometry *g, struct orders orders,
                                              bool reference_will_do)
{
    dnnl_memory_desc_t x = ordered(plan, g->from, orders.x);
    dnnl_memory_desc_t y = ordered(plan, node, orders.y);
    dnnl_convolution_desc_t operation;
    dnnl_prop_kind_t kind =
        plan->settings.training ? dnnl_forward_training : dnnl_forward_inference;
    if (dnnl_convolution_forward_desc_init(&operation, kind, dnnl_convolution_direct, &x,
                                           &g->weights, g->has_bias ? &g->bias : NULL, &y,
                                           g->stride, g->padding, g->padding) != dnnl_success)
        return NULL;
    dnnl_primitive_attr_t attributes = g->relu ? plan->onednn->with_relu : plan->onednn->plain;
    return onednn_choose(plan, &operation, attributes, NULL, reference_will_do);
}

/* oneDNN wants to know of a forward pass before it plans a backward one; any will do. */
static dnnl_primitive_desc_t hint(struct plan *plan, const struct node *node, struct geometry g,
                                  struct orders orders)
{
    g.relu = false;
    return describe_forward(plan, node, &g, orders, true);
}

static dnnl_primitive_desc_t describe_weights(struct plan *plan, const struct node *node,
                                              const struct geometry *g, struct orders orders,
                                              bool reference_will_do)
{
    dnnl_memory_desc_t x = ordered(plan, g->from, orders.x);
    dnnl_memory_desc_t y = ordered(plan, node, orders.y);
    dnnl_convolution_desc_t operation;
    dnnl_primitive_desc_t forward = hint(plan, node, *g, orders);
    if (!forward)
        return NULL;
    dnnl_convolution_backward_weights_desc_init(&operation, dnnl_convolution_direct, &x,
                                                &g->weights, g->has_bias ? &g->bias : NULL, &y,
                                                g->stride, g->padding, g->padding);
    dnnl_primitive_desc_t chosen =
        onednn_choose(plan, &operation, plan->onednn->plain, forward, reference_will_do);
    dnnl_primitive_desc_destroy(forward);
    return chosen;
}

static dnnl_primitive_desc_t describe_data(struct plan *plan, const struct node *node,
                                           const struct geometry *g, struct orders orders,
                                           bool reference_will_do)
{
    dnnl_memory_desc_t x = ordered(plan, g->from, orders.x);
    dnnl_memory_desc_t y = ordered(plan, node, orders.y);
    dnnl_convolution_desc_t operation;
    dnnl_primitive_desc_t forward = hint(plan, node, *g, orders);
    if (!forward)
        return NULL;
    dnnl_convolution_backward_data_desc_init(&operation, dnnl_convolution_direct, &x, &g->weights,
                                             &y, g->stride, g->padding, g->padding);
    dnnl_primitive_desc_t chosen =
        onednn_choose(plan, &operation, plan->onednn->plain, forward, reference_will_do);
    dnnl_primitive_desc_destroy(forward);
    return chosen;
}

typedef dnnl_primitive_desc_t describe(struct plan *plan, const struct node *node,
                                       const struct geometry *g, struct orders orders,
                                       bool reference_will_do);

/* The first choice with a fast kernel; failing that, the reference in blocks of channels. */
static dnnl_primitive_desc_t choose(struct plan *plan, const struct node *node,
                                    const struct geometry *g, describe *pass, struct orders *chosen)
{
    /* Plain order on one side only is for inputs that are in plain order already. */
    size_t first = native(plan, g->from) == PLAIN ? 0 : 1;
    for (size_t i = first; i < CHOICES; i++) {
        dnnl_primitive_desc_t primitive = pass(plan, node, g, choices[i], false);
        *chosen = choices[i];
        if (primitive)
            return primitive;
    }
    *chosen = choices[1];
    return pass(plan, node, g, *chosen, true);
}

/* An array in the wanted order, reordered if it lies otherwise. */
static struct place in_order(struct plan *plan, const struct node *owner, struct place place,
                             enum order there, enum order wanted, const char *work)
{
    if (there == wanted)
        return place;
    struct place copy = plan_buffer(plan, plan_size(plan, owner));
    onednn_add_reorder(plan, owner, work, ordered(plan, owner, there), place,
                       ordered(plan, owner, wanted), copy);
    return copy;
}

static struct place input_in_order(struct plan *plan, const struct node *node,
                                   const struct geometry *g, enum order wanted)
{
    if (wanted == BLOCKED)
        return plan_input(plan, node, 0);
    return in_order(plan, g->from, plan_output(plan, g->from), native(plan, g->from), PLAIN,
                    "reorder");
}

static bool is_plain(const struct geometry *g, dnnl_primitive_desc_t primitive, dnnl_query_t what)
{
    return dnnl_memory_desc_equal(dnnl_primitive_desc_query_md(primitive, what, 0),
                                  &g->plain_weights) == 1;
}

static struct place buffer_for(struct plan *plan, dnnl_primitive_desc_t primitive,
                               dnnl_query_t what)
{
    const dnnl_memory_desc_t *order = dnnl_primitive_desc_query_md(primitive, what, 0);
    return plan_buffer(plan, dnnl_memory_desc_get_size(order) / sizeof(float));
}

/* The weights in the order the primitive wants. */
static struct place weights_for(struct plan *plan, const struct node *node,
                                const struct geometry *g, dnnl_primitive_desc_t primitive)
{
    struct place plain = plan_tensor(plan, node, CONVOLUTION_WEIGHT);
    if (!primitive || is_plain(g, primitive, dnnl_query_weights_md))
        return plain;
    struct place copy = buffer_for(plan, primitive, dnnl_query_weights_md);
    onednn_add_reorder(plan, node, "reorder weights", g->plain_weights, plain,
                       *dnnl_primitive_desc_query_md(primitive, dnnl_query_weights_md, 0), copy);
    return copy;
}

void direct_forward(struct plan *plan, const struct node *node)
{
    struct geometry g = geometry(plan, node);
    g.relu = plan_take_relu(plan, node);
    struct orders orders;
    dnnl_primitive_desc_t primitive = choose(plan, node, &g, describe_forward, &orders);
    struct place x = input_in_order(plan, node, &g, orders.x);
    struct place y = plan_new_output(plan, node);
    struct place written = orders.y == BLOCKED ? y : plan_buffer(plan, plan_size(plan, node));
    struct onednn_argument arguments[4] = {
        {DNNL_ARG_SRC, x},
        {DNNL_ARG_WEIGHTS, weights_for(plan, node, &g, primitive)},
        {DNNL_ARG_DST, written}};
    if (g.has_bias)
        arguments[3] =
            (struct onednn_argument){DNNL_ARG_BIAS, plan_tensor(plan, node, CONVOLUTION_BIAS)};
    onednn_add(plan, node, "forward", convolution_gflop(plan, node), primitive, arguments,
               g.has_bias ? 4 : 3);
    if (orders.y == PLAIN)
        onednn_add_reorder(plan, node, "reorder", onednn_plain(plan, node), written,
                           onednn_blocked(plan, node), y);
}

/* Whether oneDNN can read the caller's images as they are; else our own kernel is faster. */
static bool needs_own(struct plan *plan, const struct node *node, const struct geometry *g)
{
    if (native(plan, g->from) != PLAIN || g->from->shape.channels >= 8)
        return false;
    dnnl_primitive_desc_t found = describe_weights(plan, node, g, choices[0], false);
    if (found)
        dnnl_primitive_desc_destroy(found);
    return !found;
}

static void backward_weights(struct plan *plan, const struct node *node, const struct geometry *g)
{
    if (needs_own(plan, node, g)) {
        few_inputs_backward_weights(plan, node);
        return;
    }
    struct orders orders;
    dnnl_primitive_desc_t primitive = choose(plan, node, g, describe_weights, &orders);
    if (!primitive) {
        onednn_add(plan, node, "backward weights", 0, NULL, NULL, 0);
        return;
    }
    struct place x = input_in_order(plan, node, g, orders.x);
    struct place dy =
        in_order(plan, node, plan_gradient(plan, node), BLOCKED, orders.y, "reorder gradient");
    struct place gradient = plan_tensor_gradient(plan, node, CONVOLUTION_WEIGHT);
    bool plain = is_plain(g, primitive, dnnl_query_diff_weights_md);
    dnnl_memory_desc_t order =
        *dnnl_primitive_desc_query_md(primitive, dnnl_query_diff_weights_md, 0);
    struct place written =
        plain ? gradient : buffer_for(plan, primitive, dnnl_query_diff_weights_md);
    struct onednn_argument arguments[4] = {
        {DNNL_ARG_SRC, x}, {DNNL_ARG_DIFF_DST, dy}, {DNNL_ARG_DIFF_WEIGHTS, written}};
    if (g->has_bias)
        arguments[3] = (struct onednn_argument){DNNL_ARG_DIFF_BIAS,
                                                plan_tensor_gradient(plan, node, CONVOLUTION_BIAS)};
    onednn_add(plan, node, "backward weights", convolution_gflop(plan, node), primitive, arguments,
               g->has_bias ? 4 : 3);
    if (!plain)
        onednn_add_reorder(plan, node, "reorder weights", order, written, g->plain_weights,
                           gradient);
}

static void backward_data(struct plan *plan, const struct node *node, const struct geometry *g)
{
    struct orders orders;
    dnnl_primitive_desc_t primitive = choose(plan, node, g, describe_data, &orders);
    struct place weights = weights_for(plan, node, g, primitive);
    struct place dy =
        in_order(plan, node, plan_gradient(plan, node), BLOCKED, orders.y, "reorder gradient");
    struct delivery delivery = plan_deliver_begin(plan, node, 0, 0);
    struct place written =
        orders.x == BLOCKED ? delivery.to : plan_buffer(plan, plan_size(plan, g->from));
    struct onednn_argument arguments[] = {
        {DNNL_ARG_DIFF_DST, dy}, {DNNL_ARG_WEIGHTS, weights}, {DNNL_ARG_DIFF_SRC, written}};
    onednn_add(plan, node, "backward data", convolution_gflop(plan, node), primitive, arguments, 3);
    if (orders.x == PLAIN)
        onednn_add_reorder(plan, node, "reorder gradient", onednn_plain(plan, g->from), written,
                           onednn_blocked(plan, g->from), delivery.to);
    plan_deliver_end(plan, node, &delivery);
}

void direct_backward(struct plan *plan, const struct node *node)
{
    struct geometry g = geometry(plan, node);
    backward_weights(plan, node, &g);
    if (plan_wants_gradient(plan, node, 0))
        backward_data(plan, node, &g);
}

/* Convolution by oneDNN's direct kernels. Which memory order is fast depends on the shape: each
 * pass tries blocks of channels first (for the caller's images, plain order before that), then
 * plain order on both sides, and takes the first for which oneDNN has a kernel other than its
 * reference. Reorders are added where arrays are in another order. */
#include "engine/nn/layers/convolution.h"
#include "engine/nn/onednn.h"

/* Orders of input and output to try. */
struct orders {
    enum onednn_order x;
    enum onednn_order y;
};

static const struct orders choices[] = {
    {ONEDNN_PLAIN, ONEDNN_BLOCKED}, {ONEDNN_BLOCKED, ONEDNN_BLOCKED}, {ONEDNN_PLAIN, ONEDNN_PLAIN}};
#define CHOICES (sizeof choices / sizeof choices[0])

static const struct node *input(const struct plan *plan, const struct node *node)
{
    return &plan->graph->nodes[node->inputs[0]];
}

static struct onednn_operation describe(const struct node *node, enum onednn_pass pass, bool relu)
{
    struct syn_convolution c = node->options.convolution;
    size_t stride = c.stride ? c.stride : 1;
    return (struct onednn_operation){.kind = ONEDNN_CONVOLUTION,
                                     .pass = pass,
                                     .kernel = {c.kernel, c.kernel},
                                     .stride = {stride, stride},
                                     .padding = {c.padding, c.padding},
                                     .bias = !c.no_bias,
                                     .relu = relu};
}

/* The memory order of a node's output. */
static enum onednn_order native(const struct plan *plan, const struct node *node)
{
    return plan_output(plan, node).region == REGION_IMAGES ? ONEDNN_PLAIN : ONEDNN_BLOCKED;
}

static struct dnnl_primitive_desc *choose_in(struct plan *plan, const struct node *node,
                                             struct onednn_operation *operation,
                                             struct orders orders, bool reference_will_do)
{
    operation->x = orders.x;
    operation->y = orders.y;
    return onednn_choose(plan, node, operation, reference_will_do);
}

/* The first choice with a fast kernel, else the reference in blocks of channels. Its orders are
 * stored in operation. */
static struct dnnl_primitive_desc *choose(struct plan *plan, const struct node *node,
                                          struct onednn_operation *operation)
{
    /* Plain order on one side only is for inputs that are already in plain order. */
    size_t first = native(plan, input(plan, node)) == ONEDNN_PLAIN ? 0 : 1;
    for (size_t i = first; i < CHOICES; i++) {
        struct dnnl_primitive_desc *primitive = choose_in(plan, node, operation, choices[i], false);
        if (primitive)
            return primitive;
    }
    return choose_in(plan, node, operation, choices[1], true);
}

/* An array in the wanted order, reordered if necessary. */
static struct place in_order(struct plan *plan, const struct node *owner, struct place place,
                             enum onednn_order there, enum onednn_order wanted, const char *work)
{
    if (there == wanted)
        return place;
    struct place copy = plan_buffer(plan, plan_size(plan, owner));
    onednn_add_reorder(plan, owner, work, owner, there, place, copy);
    return copy;
}

static struct place input_in_order(struct plan *plan, const struct node *node,
                                   enum onednn_order wanted)
{
    if (wanted == ONEDNN_BLOCKED)
        return plan_input(plan, node, 0);
    const struct node *from = input(plan, node);
    return in_order(plan, from, plan_output(plan, from), native(plan, from), ONEDNN_PLAIN,
                    "reorder");
}

static struct place gradient_in_order(struct plan *plan, const struct node *node,
                                      enum onednn_order wanted)
{
    return in_order(plan, node, plan_gradient(plan, node), ONEDNN_BLOCKED, wanted,
                    "reorder gradient");
}

void direct_forward(struct plan *plan, const struct node *node)
{
    struct onednn_operation operation = describe(node, ONEDNN_FORWARD, plan_take_relu(plan, node));
    struct dnnl_primitive_desc *primitive = choose(plan, node, &operation);
    struct place x = input_in_order(plan, node, operation.x);
    struct place y = plan_new_output(plan, node);
    struct place written =
        operation.y == ONEDNN_BLOCKED ? y : plan_buffer(plan, plan_size(plan, node));
    struct onednn_argument arguments[4] = {
        {ONEDNN_X, x},
        {ONEDNN_WEIGHTS, plan_tensor(plan, node, CONVOLUTION_WEIGHT)},
        {ONEDNN_Y, written}};
    if (operation.bias)
        arguments[3] =
            (struct onednn_argument){ONEDNN_BIAS, plan_tensor(plan, node, CONVOLUTION_BIAS)};
    onednn_add(plan, node, "forward", convolution_gflop(plan, node), primitive, arguments,
               operation.bias ? 4 : 3);
    if (operation.y == ONEDNN_PLAIN)
        onednn_add_reorder(plan, node, "reorder", node, ONEDNN_PLAIN, written, y);
}

/* Whether our own kernel is needed: it is faster unless oneDNN can read the caller's images as they
 * are. */
static bool needs_own(struct plan *plan, const struct node *node, struct onednn_operation operation)
{
    const struct node *from = input(plan, node);
    if (native(plan, from) != ONEDNN_PLAIN || from->shape.channels >= 8)
        return false;
    struct dnnl_primitive_desc *found = choose_in(plan, node, &operation, choices[0], false);
    onednn_forget(found);
    return !found;
}

static void backward_weights(struct plan *plan, const struct node *node)
{
    struct onednn_operation operation = describe(node, ONEDNN_BACKWARD_WEIGHTS, false);
    if (needs_own(plan, node, operation)) {
        few_inputs_backward_weights(plan, node);
        return;
    }
    struct dnnl_primitive_desc *primitive = choose(plan, node, &operation);
    struct place x = input_in_order(plan, node, operation.x);
    struct place dy = gradient_in_order(plan, node, operation.y);
    struct onednn_argument arguments[4] = {
        {ONEDNN_X, x},
        {ONEDNN_DY, dy},
        {ONEDNN_DWEIGHTS, plan_tensor_gradient(plan, node, CONVOLUTION_WEIGHT)}};
    if (operation.bias)
        arguments[3] = (struct onednn_argument){ONEDNN_DBIAS,
                                                plan_tensor_gradient(plan, node, CONVOLUTION_BIAS)};
    onednn_add(plan, node, "backward weights", convolution_gflop(plan, node), primitive, arguments,
               operation.bias ? 4 : 3);
}

static void backward_data(struct plan *plan, const struct node *node)
{
    struct onednn_operation operation = describe(node, ONEDNN_BACKWARD_DATA, false);
    const struct node *from = input(plan, node);
    struct dnnl_primitive_desc *primitive = choose(plan, node, &operation);
    struct place dy = gradient_in_order(plan, node, operation.y);
    struct delivery delivery = plan_deliver_begin(plan, node, 0, 0);
    struct place written =
        operation.x == ONEDNN_BLOCKED ? delivery.to : plan_buffer(plan, plan_size(plan, from));
    struct onednn_argument arguments[] = {
        {ONEDNN_DY, dy},
        {ONEDNN_WEIGHTS, plan_tensor(plan, node, CONVOLUTION_WEIGHT)},
        {ONEDNN_DX, written}};
    onednn_add(plan, node, "backward data", convolution_gflop(plan, node), primitive, arguments, 3);
    if (operation.x == ONEDNN_PLAIN)
        onednn_add_reorder(plan, node, "reorder gradient", from, ONEDNN_PLAIN, written,
                           delivery.to);
    plan_deliver_end(plan, node, &delivery);
}

void direct_backward(struct plan *plan, const struct node *node)
{
    backward_weights(plan, node);
    if (plan_wants_gradient(plan, node, 0))
        backward_data(plan, node);
}

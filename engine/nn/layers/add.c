/* The sum of two values, then max(0, x) if requested; overwrites one of its inputs where
 * allowed. */
#include "engine/nn/layers/elementwise.h"

#include <string.h>

static bool shape(struct syn_graph *graph, struct node *node)
{
    const struct shape *one = graph_from(graph, node, 0);
    const struct shape *other = graph_from(graph, node, 1);
    bool same = one->channels == other->channels && one->height == other->height &&
                one->width == other->width && one->sequence == other->sequence;
    if (!same)
        return graph_refuse(graph, "%s: cannot add %zux%zux%zu and %zux%zux%zu values", node->name,
                            one->channels, one->height, one->width, other->channels, other->height,
                            other->width);
    node->shape = *one;
    return true;
}

static void run_part(void *context, size_t part, size_t begin, size_t end)
{
    (void)part;
    const struct elementwise *e = context;
    const bool *relu = e->more;
    e->call->own->elementwise->add(e->x + begin, e->other + begin, e->y + begin, end - begin,
                                   *relu);
}

static enum syn_status run(const struct kernel *kernel, void *const at[], struct call *call)
{
    struct elementwise e = {
        .call = call, .x = at[0], .other = at[1], .y = at[2], .more = &kernel->node->options.relu};
    return elementwise_run(kernel, &e, run_part);
}

static void forward(struct plan *plan, const struct node *node)
{
    struct place one = plan_input(plan, node, 0);
    struct place other = plan_input(plan, node, 1);
    if (plan_may_overwrite(plan, node, 0))
        plan_set_output(plan, node, one);
    else if (plan_may_overwrite(plan, node, 1))
        plan_set_output(plan, node, other);
    else
        plan_new_output(plan, node);
    struct place places[] = {one, other, plan_output(plan, node)};
    elementwise_add(plan, node, "forward", run, places, 3);
}

/* Both inputs have the gradient of the sum, masked by the ReLU. */
static void backward(struct plan *plan, const struct node *node)
{
    if (node->options.relu) {
        struct place masked = plan_gradient(plan, node);
        if (!plan_owns_gradient(plan, node))
            masked = plan_buffer(plan, plan_size(plan, node));
        struct place places[] = {plan_gradient(plan, node), plan_output(plan, node), masked};
        elementwise_add(plan, node, "backward", relu_run_gradient, places, 3);
        plan_move_gradient(plan, node, masked);
    }
    for (size_t k = 0; k < node->input_count; k++)
        if (plan_wants_gradient(plan, node, k))
            plan_pass_gradient(plan, node, k);
}

const struct layer_kind layer_add = {.name = "add",
                                     .help = "the sum of two values, with an optional ReLU",
                                     .shape = shape,
                                     .forward = forward,
                                     .backward = backward,
                                     .needs_output = true};

/* max(0, x): done by the preceding layer if it can, else in place. Its gradient needs only the
 * output. */
#include "engine/nn/layers/elementwise.h"

static bool shape(struct syn_graph *graph, struct node *node)
{
    node->shape = *graph_from(graph, node, 0);
    return true;
}

static void run_part(void *context, size_t part, size_t begin, size_t end)
{
    (void)part;
    const struct elementwise *e = context;
    e->call->own->elementwise->relu(e->x + begin, e->y + begin, end - begin);
}

static enum syn_status run(const struct kernel *kernel, void *const at[], struct call *call)
{
    struct elementwise e = {.call = call, .x = at[0], .y = at[1]};
    return elementwise_run(kernel, &e, run_part);
}

static void forward(struct plan *plan, const struct node *node)
{
    const struct value *from = &plan->values[node->inputs[0]];
    struct place x = plan_input(plan, node, 0);
    if (from->is_rectified) {
        plan_set_output(plan, node, x);
        return;
    }
    struct place y = x;
    if (plan_may_overwrite(plan, node, 0))
        plan_set_output(plan, node, x);
    else
        y = plan_new_output(plan, node);
    struct place places[] = {x, y};
    elementwise_add(plan, node, "forward", run, places, 2);
}

static void run_gradient_part(void *context, size_t part, size_t begin, size_t end)
{
    (void)part;
    const struct elementwise *e = context;
    e->call->own->elementwise->relu_gradient(e->x + begin, e->other + begin, e->y + begin,
                                             end - begin);
}

enum syn_status relu_run_gradient(const struct kernel *kernel, void *const at[], struct call *call)
{
    struct elementwise e = {.call = call, .x = at[0], .other = at[1], .y = at[2]};
    return elementwise_run(kernel, &e, run_gradient_part);
}

static void backward(struct plan *plan, const struct node *node)
{
    struct delivery delivery = plan_deliver_begin(plan, node, 0, DELIVER_IN_PLACE);
    struct place places[] = {plan_gradient(plan, node), plan_output(plan, node), delivery.to};
    elementwise_add(plan, node, "backward", relu_run_gradient, places, 3);
    plan_deliver_end(plan, node, &delivery);
}

const struct layer_kind layer_relu = {.name = "relu",
                                      .help = "max(0, x)",
                                      .shape = shape,
                                      .forward = forward,
                                      .backward = backward,
                                      .needs_output = true};

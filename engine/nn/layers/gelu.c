/* GELU. In training the forward pass also computes the derivative, over the input where allowed, so
 * that the backward pass is one multiplication. */
#include "engine/nn/layers/elementwise.h"

enum { SLOPE }; /* kept: the derivative */

static bool shape(struct syn_graph *graph, struct node *node)
{
    node->shape = *graph_from(graph, node, 0);
    return true;
}

static void run_part(void *context, size_t part, size_t begin, size_t end)
{
    (void)part;
    const struct elementwise *e = context;
    float *slope = e->more ? (float *)e->more + begin : NULL;
    e->call->own->gelu->forward(e->x + begin, e->y + begin, slope, end - begin);
}

static enum syn_status run(const struct kernel *kernel, void *const at[], struct call *call)
{
    struct elementwise e = {
        .call = call, .x = at[0], .y = at[1], .more = kernel->place_count > 2 ? at[2] : NULL};
    return elementwise_run(kernel, &e, run_part);
}

static void forward(struct plan *plan, const struct node *node)
{
    struct place x = plan_input(plan, node, 0);
    bool may_overwrite = plan_may_overwrite(plan, node, 0);
    if (!plan->settings.training && may_overwrite)
        plan_set_output(plan, node, x);
    else
        plan_new_output(plan, node);
    struct place places[] = {x, plan_output(plan, node), x};
    if (plan->settings.training) {
        places[2] = may_overwrite ? x : plan_buffer(plan, plan_size(plan, node));
        plan->values[node->number].kept[SLOPE] = places[2];
    }
    elementwise_add(plan, node, "forward", run, places, plan->settings.training ? 3 : 2);
}

static void run_gradient_part(void *context, size_t part, size_t begin, size_t end)
{
    (void)part;
    const struct elementwise *e = context;
    e->call->own->gelu->backward(e->x + begin, e->other + begin, e->y + begin, end - begin);
}

static enum syn_status run_gradient(const struct kernel *kernel, void *const at[],
                                    struct call *call)
{
    struct elementwise e = {.call = call, .x = at[0], .other = at[1], .y = at[2]};
    return elementwise_run(kernel, &e, run_gradient_part);
}

static void backward(struct plan *plan, const struct node *node)
{
    struct delivery delivery = plan_deliver_begin(plan, node, 0, DELIVER_IN_PLACE);
    struct place places[] = {plan_gradient(plan, node), plan->values[node->number].kept[SLOPE],
                             delivery.to};
    elementwise_add(plan, node, "backward", run_gradient, places, 3);
    plan_deliver_end(plan, node, &delivery);
}

const struct layer_kind layer_gelu = {.name = "gelu",
                                      .help = "x times the normal distribution function of x",
                                      .shape = shape,
                                      .forward = forward,
                                      .backward = backward};

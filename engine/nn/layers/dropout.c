/* Dropout: in training, values are zeroed at random and the others scaled up. The mask is a hash of
 * seed, step, layer and position, so it is not stored, and a repeated step uses the same mask. */
#include "engine/nn/layers/elementwise.h"

static bool shape(struct syn_graph *graph, struct node *node)
{
    if (!(node->options.rate >= 0 && node->options.rate < 1))
        return graph_refuse(graph, "%s: rate %g; expected at least 0 and less than 1", node->name,
                            node->options.rate);
    node->shape = *graph_from(graph, node, 0);
    return true;
}

/* Mixes 64 bits (the finalizer of splitmix64). */
static uint64_t mix(uint64_t x)
{
    x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9u;
    x = (x ^ (x >> 27)) * 0x94d049bb133111ebu;
    return x ^ (x >> 31);
}

static struct dropout_mask mask(const struct node *node, const struct call *call)
{
    uint64_t key = mix(mix(mix(call->seed) + call->step) + node->number);
    return (struct dropout_mask){.key = (uint32_t)key,
                                 .threshold = (uint32_t)(node->options.rate * 4294967296.0),
                                 .scale = (float)(1 / (1 - node->options.rate))};
}

static void run_part(void *context, size_t part, size_t begin, size_t end)
{
    (void)part;
    const struct elementwise *e = context;
    e->call->own->elementwise->dropout(e->more, begin, e->x + begin, e->y + begin, end - begin);
}

static enum syn_status run(const struct kernel *kernel, void *const at[], struct call *call)
{
    struct dropout_mask m = mask(kernel->node, call);
    struct elementwise e = {.call = call, .x = at[0], .y = at[1], .more = &m};
    return elementwise_run(kernel, &e, run_part);
}

static void forward(struct plan *plan, const struct node *node)
{
    struct place x = plan_input(plan, node, 0);
    if (!plan->settings.training || node->options.rate == 0) {
        plan_set_output(plan, node, x);
        return;
    }
    struct place places[] = {x, plan_new_output(plan, node)};
    elementwise_add(plan, node, "forward", run, places, 2);
}

static void backward(struct plan *plan, const struct node *node)
{
    if (node->options.rate == 0) {
        plan_pass_gradient(plan, node, 0);
        return;
    }
    struct delivery delivery = plan_deliver_begin(plan, node, 0, DELIVER_IN_PLACE);
    struct place places[] = {plan_gradient(plan, node), delivery.to};
    elementwise_add(plan, node, "backward", run, places, 2);
    plan_deliver_end(plan, node, &delivery);
}

const struct layer_kind layer_dropout = {.name = "dropout",
                                         .help = "zeroes values at random while training",
                                         .shape = shape,
                                         .forward = forward,
                                         .backward = backward};

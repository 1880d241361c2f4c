/* The input of a language model: numbers of words, [time][batch], time steps in order. */
#include "engine/nn/emit.h"

static bool shape(struct syn_graph *graph, struct node *node)
{
    if (node->options.vocabulary == 0)
        return graph_refuse(graph, "tokens of an empty vocabulary");
    node->shape =
        (struct shape){.sequence = true, .tokens = true, .channels = 1, .height = 1, .width = 1};
    return true;
}

static void forward(struct plan *plan, const struct node *node)
{
    plan_set_output(plan, node, (struct place){REGION_TOKENS, 0});
}

const struct layer_kind layer_tokens = {
    .name = "tokens", .help = "input: words of a text", .shape = shape, .forward = forward};

/* A row of the weights for each token. The gradient is zero except in the rows of tokens that
 * occurred, whose contributions are added in the order of the tokens: the same bits for any number
 * of cores. If a product has the same weights, its part of the gradient is there already, because
 * it is later in the graph. */
#include "engine/nn/emit.h"

#include <string.h>

enum { WEIGHT };

static bool shape(struct syn_graph *graph, struct node *node)
{
    if (!graph_from(graph, node, 0)->tokens)
        return graph_refuse(graph, "%s: an embedding reads tokens", node->name);
    if (node->options.outputs == 0)
        return graph_refuse(graph, "%s: no outputs", node->name);
    node->shape = (struct shape){
        .sequence = true, .channels = node->options.outputs, .height = 1, .width = 1};
    return true;
}

static size_t vocabulary(const struct syn_graph *graph, const struct node *node)
{
    return graph->nodes[node->inputs[0]].options.vocabulary;
}

static size_t tensors(const struct syn_graph *graph, const struct node *node,
                      struct tensor *tensors)
{
    tensors[WEIGHT] =
        (struct tensor){SPACE_WEIGHTS, "weight",
                        SHAPE(vocabulary(graph, node), node->options.outputs), START_NORMAL, 1};
    return 1;
}

struct state {
    size_t rows;
    size_t width;
    size_t padded;
    size_t vocabulary;
    bool is_tied;
};

static enum syn_status run_forward(const struct kernel *kernel, void *const at[], struct call *call)
{
    (void)call;
    const struct state *s = kernel->state;
    const int32_t *tokens = at[0];
    const float *weights = at[1];
    float *y = at[2];
    for (size_t i = 0; i < s->rows; i++) {
        float *row = y + i * s->padded;
        memcpy(row, weights + (size_t)tokens[i] * s->width, s->width * sizeof *row);
        memset(row + s->width, 0, (s->padded - s->width) * sizeof *row);
    }
    return SYN_OK;
}

static enum syn_status run_backward(const struct kernel *kernel, void *const at[],
                                    struct call *call)
{
    (void)call;
    const struct state *s = kernel->state;
    const int32_t *tokens = at[0];
    const float *dy = at[1];
    float *gradient = at[2];
    if (!s->is_tied)
        memset(gradient, 0, s->vocabulary * s->width * sizeof *gradient);
    for (size_t i = 0; i < s->rows; i++) {
        float *row = gradient + (size_t)tokens[i] * s->width;
        for (size_t j = 0; j < s->width; j++)
            row[j] += dy[i * s->padded + j];
    }
    return SYN_OK;
}

static bool is_tied(const struct syn_graph *graph, const struct node *node)
{
    for (size_t i = node->number + 1; i < graph->count; i++)
        if (graph->nodes[i].kind == &layer_inner_product &&
            graph->nodes[i].options.product.is_tied &&
            graph->nodes[i].options.product.embedding == node->number)
            return true;
    return false;
}

static void add(struct plan *plan, const struct node *node, const char *work, kernel_run *run,
                struct place second, struct place third)
{
    struct state state = {plan_rows(plan, node), node->shape.channels,
                          padded_channels(node->shape.channels), vocabulary(plan->graph, node),
                          is_tied(plan->graph, node)};
    struct kernel kernel = {
        .node = node,
        .work = work,
        .implementation = plan->own->name,
        .run = run,
        .places = {plan_output(plan, &plan->graph->nodes[node->inputs[0]]), second, third},
        .place_count = 3};
    plan_add(plan, &kernel, &state, sizeof state);
}

static void forward(struct plan *plan, const struct node *node)
{
    add(plan, node, "forward", run_forward, plan_tensor(plan, node, WEIGHT),
        plan_new_output(plan, node));
}

static void backward(struct plan *plan, const struct node *node)
{
    add(plan, node, "backward weights", run_backward, plan_gradient(plan, node),
        plan_tensor_gradient(plan, node, WEIGHT));
}

const struct layer_kind layer_embedding = {.name = "embedding",
                                           .help = "a vector for each word",
                                           .shape = shape,
                                           .tensors = tensors,
                                           .forward = forward,
                                           .backward = backward};

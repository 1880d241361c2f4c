/* Adds a learnt vector for its position to the vector of every time step. Rows are in the order of
 * time, so the rows of one position are adjacent. */
#include "engine/nn/emit.h"

#include <string.h>

#include "engine/base/fail.h"

enum { WEIGHT };

static bool shape(struct syn_graph *graph, struct node *node)
{
    const struct shape *from = graph_from(graph, node, 0);
    if (!from->sequence || from->height * from->width != 1)
        return graph_refuse(graph, "%s: positions are for the vectors of a text", node->name);
    if (node->options.length == 0)
        return graph_refuse(graph, "%s: no positions", node->name);
    node->shape = *from;
    return true;
}

/* As torch.nn.Embedding's. */
static size_t tensors(const struct syn_graph *graph, const struct node *node,
                      struct tensor *tensors)
{
    (void)graph;
    tensors[WEIGHT] =
        (struct tensor){SPACE_WEIGHTS, "weight", SHAPE(node->options.length, node->shape.channels),
                        START_NORMAL, 1};
    return 1;
}

struct state {
    size_t time;
    size_t count; /* examples */
    size_t width;
    size_t padded;
    size_t length;
};

/* at: x, weights, y */
static enum syn_status run_forward(const struct kernel *kernel, void *const at[], struct call *call)
{
    (void)call;
    const struct state *s = kernel->state;
    const float *x = at[0];
    float *y = at[2];
    for (size_t row = 0; row < s->time * s->count; row++) {
        const float *position = (const float *)at[1] + row / s->count * s->width;
        for (size_t i = 0; i < s->width; i++)
            y[row * s->padded + i] = x[row * s->padded + i] + position[i];
        for (size_t i = s->width; i < s->padded; i++)
            y[row * s->padded + i] = 0;
    }
    return SYN_OK;
}

/* at: dy, gradient */
static enum syn_status run_backward(const struct kernel *kernel, void *const at[],
                                    struct call *call)
{
    (void)call;
    const struct state *s = kernel->state;
    const float *dy = at[0];
    float *gradient = at[1];
    memset(gradient, 0, s->length * s->width * sizeof *gradient);
    for (size_t row = 0; row < s->time * s->count; row++) {
        float *position = gradient + row / s->count * s->width;
        for (size_t i = 0; i < s->width; i++)
            position[i] += dy[row * s->padded + i];
    }
    return SYN_OK;
}

static void add(struct plan *plan, const struct node *node, const char *work, kernel_run *run,
                const struct place *places, size_t count)
{
    struct state state = {.time = plan->settings.time,
                          .count = plan->settings.count,
                          .width = node->shape.channels,
                          .padded = padded_channels(node->shape.channels),
                          .length = node->options.length};
    struct kernel kernel = {.node = node,
                            .work = work,
                            .implementation = plan->own->name,
                            .run = run,
                            .place_count = count};
    memcpy(kernel.places, places, count * sizeof *places);
    plan_add(plan, &kernel, &state, sizeof state);
}

static void forward(struct plan *plan, const struct node *node)
{
    struct place x = plan_input(plan, node, 0);
    if (plan->settings.time > node->options.length) {
        plan_fail(plan, syn_report(SYN_INVALID,
                                   "time is %zu, but the model knows only %zu positions of a text",
                                   plan->settings.time, node->options.length));
        return;
    }
    if (plan_may_overwrite(plan, node, 0))
        plan_set_output(plan, node, x);
    else
        plan_new_output(plan, node);
    struct place places[] = {x, plan_tensor(plan, node, WEIGHT), plan_output(plan, node)};
    add(plan, node, "forward", run_forward, places, 3);
}

static void backward(struct plan *plan, const struct node *node)
{
    struct place places[] = {plan_gradient(plan, node), plan_tensor_gradient(plan, node, WEIGHT)};
    add(plan, node, "backward weights", run_backward, places, 2);
    if (plan_wants_gradient(plan, node, 0))
        plan_pass_gradient(plan, node, 0);
}

const struct layer_kind layer_positions = {.name = "positions",
                                           .help = "adds a vector for each position in a text",
                                           .shape = shape,
                                           .tensors = tensors,
                                           .forward = forward,
                                           .backward = backward};

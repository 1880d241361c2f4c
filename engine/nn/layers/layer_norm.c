/* Layer norm of vectors. Its gradient needs the input, and mean and deviation of every row, which
 * the forward pass keeps. */
#include "engine/nn/emit.h"
#include "engine/nn/parallel.h"

#include <string.h>

#define EPSILON 1e-5F /* PyTorch's */
#define LANES   8

enum { WEIGHT, BIAS };
enum { MOMENTS }; /* kept: mean and factor of every row */

static bool shape(struct syn_graph *graph, struct node *node)
{
    const struct shape *from = graph_from(graph, node, 0);
    if (from->height * from->width != 1)
        return graph_refuse(graph, "%s: the input is %zux%zux%zu; expected a vector", node->name,
                            from->channels, from->height, from->width);
    node->shape = *from;
    return true;
}

static size_t tensors(const struct syn_graph *graph, const struct node *node,
                      struct tensor *tensors)
{
    (void)graph;
    tensors[WEIGHT] =
        (struct tensor){SPACE_WEIGHTS, "weight", SHAPE(node->shape.channels), START_ONE, 0};
    tensors[BIAS] =
        (struct tensor){SPACE_WEIGHTS, "bias", SHAPE(node->shape.channels), START_ZERO, 0};
    return 2;
}

struct state {
    struct layer_norm_shape shape;
    bool accumulate;
};

struct job {
    const struct state *state;
    const struct layer_norm_kernels *own;
    void *const *at;
};

/* at: x, weight, bias, y, moments */
static void forward_part(void *context, size_t part, size_t begin, size_t end)
{
    (void)part;
    const struct job *job = context;
    void *const *at = job->at;
    job->own->forward(&job->state->shape, at[0], at[1], at[2], at[3], at[4], begin, end);
}

static enum syn_status run_forward(const struct kernel *kernel, void *const at[], struct call *call)
{
    struct job job = {kernel->state, call->own->layer_norm, at};
    parallel_run(call->threads, job.state->shape.rows, forward_part, &job);
    return SYN_OK;
}

/* at: x, weight, dy, moments, dx */
static void data_part(void *context, size_t part, size_t begin, size_t end)
{
    (void)part;
    const struct job *job = context;
    void *const *at = job->at;
    job->own->data(&job->state->shape, at[0], at[1], at[2], at[3], job->state->accumulate, at[4],
                   begin, end);
}

static enum syn_status run_data(const struct kernel *kernel, void *const at[], struct call *call)
{
    struct job job = {kernel->state, call->own->layer_norm, at};
    parallel_run(call->threads, job.state->shape.rows, data_part, &job);
    return SYN_OK;
}

/* at: x, dy, moments, dweight, dbias */
static void weights_part(void *context, size_t part, size_t begin, size_t end)
{
    (void)part;
    const struct job *job = context;
    void *const *at = job->at;
    job->own->weights(&job->state->shape, at[0], at[1], at[2], at[3], at[4], begin, end);
}

static enum syn_status run_weights(const struct kernel *kernel, void *const at[], struct call *call)
{
    struct job job = {kernel->state, call->own->layer_norm, at};
    parallel_run(call->threads, job.state->shape.padded / LANES, weights_part, &job);
    return SYN_OK;
}

static void add(struct plan *plan, const struct node *node, const char *work, kernel_run *run,
                bool accumulate, const struct place places[5])
{
    struct state state = {.shape = {.rows = plan_rows(plan, node),
                                    .channels = node->shape.channels,
                                    .padded = padded_channels(node->shape.channels),
                                    .epsilon = EPSILON},
                          .accumulate = accumulate};
    struct kernel kernel = {.node = node,
                            .work = work,
                            .implementation = plan->own->name,
                            .run = run,
                            .place_count = 5};
    memcpy(kernel.places, places, 5 * sizeof *places);
    plan_add(plan, &kernel, &state, sizeof state);
}

static void forward(struct plan *plan, const struct node *node)
{
    struct place *moments = &plan->values[node->number].kept[MOMENTS];
    *moments = plan_buffer(plan, plan_rows(plan, node) * sizeof(struct layer_norm_moments) /
                                     sizeof(float));
    struct place places[] = {plan_input(plan, node, 0), plan_tensor(plan, node, WEIGHT),
                             plan_tensor(plan, node, BIAS), plan_new_output(plan, node), *moments};
    add(plan, node, "forward", run_forward, false, places);
}

static void backward(struct plan *plan, const struct node *node)
{
    struct place x = plan_input(plan, node, 0);
    struct place moments = plan->values[node->number].kept[MOMENTS];
    struct place dy = plan_gradient(plan, node);
    struct place weights[] = {x, dy, moments, plan_tensor_gradient(plan, node, WEIGHT),
                              plan_tensor_gradient(plan, node, BIAS)};
    add(plan, node, "backward weights", run_weights, false, weights);
    if (!plan_wants_gradient(plan, node, 0))
        return;
    struct delivery delivery =
        plan_deliver_begin(plan, node, 0, DELIVER_ACCUMULATES | DELIVER_IN_PLACE);
    struct place data[] = {x, plan_tensor(plan, node, WEIGHT), plan_gradient(plan, node), moments,
                           delivery.to};
    add(plan, node, "backward data", run_data, delivery.accumulate, data);
    plan_deliver_end(plan, node, &delivery);
}

const struct layer_kind layer_layer_norm = {.name = "layer_norm",
                                            .help = "layer norm of vectors",
                                            .shape = shape,
                                            .tensors = tensors,
                                            .forward = forward,
                                            .backward = backward};

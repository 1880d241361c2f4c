/* The convolution layer. How it is computed is in winograd.c, pointwise.c, direct.c and
 * few_inputs.c. */
#include "engine/nn/layers/convolution.h"

#include <math.h>
#include <string.h>

static size_t stride(const struct node *node)
{
    return node->options.convolution.stride ? node->options.convolution.stride : 1;
}

static bool shape(struct syn_graph *graph, struct node *node)
{
    const struct shape *from = graph_from(graph, node, 0);
    struct syn_convolution c = node->options.convolution;
    size_t least = from->height < from->width ? from->height : from->width;
    if (c.outputs == 0 || c.kernel == 0 || c.kernel > least + 2 * c.padding)
        return graph_refuse(graph, "%s: %zu kernels of %zux%zu with padding %zu on %zux%zu values",
                            node->name, c.outputs, c.kernel, c.kernel, c.padding, from->height,
                            from->width);
    node->shape =
        (struct shape){.sequence = from->sequence,
                       .channels = c.outputs,
                       .height = (from->height + 2 * c.padding - c.kernel) / stride(node) + 1,
                       .width = (from->width + 2 * c.padding - c.kernel) / stride(node) + 1};
    return true;
}

static size_t tensors(const struct syn_graph *graph, const struct node *node,
                      struct tensor *tensors)
{
    struct syn_convolution c = node->options.convolution;
    size_t channels = graph_from(graph, node, 0)->channels;
    size_t inputs = channels * c.kernel * c.kernel;
    double bound = 1 / sqrt((double)inputs);
    tensors[CONVOLUTION_WEIGHT] =
        (struct tensor){SPACE_WEIGHTS, "weight", SHAPE(c.outputs, channels, c.kernel, c.kernel),
                        START_UNIFORM, bound};
    tensors[CONVOLUTION_BIAS] =
        (struct tensor){SPACE_WEIGHTS, "bias", SHAPE(c.outputs), START_UNIFORM, bound};
    return c.no_bias ? 1 : 2;
}

double convolution_gflop(const struct plan *plan, const struct node *node)
{
    struct syn_convolution c = node->options.convolution;
    double inputs = (double)(graph_from(plan->graph, node, 0)->channels * c.kernel * c.kernel);
    return 2e-9 * inputs * (double)plan_rows(plan, node) * (double)shape_values(&node->shape);
}

void convolution_add(struct plan *plan, const struct node *node, const char *work, kernel_run *run,
                     double gflop, struct convolution_way way, const struct place *places,
                     size_t count)
{
    struct kernel kernel = {.node = node,
                            .work = work,
                            .implementation = way.name,
                            .gflop = gflop,
                            .run = run,
                            .place_count = count};
    memcpy(kernel.places, places, count * sizeof *places);
    plan_add(plan, &kernel, way.state, way.state_bytes);
}

struct place convolution_add_filter(struct plan *plan, const struct node *node, const char *work,
                                    kernel_run *run, struct convolution_way way, size_t floats)
{
    struct place places[] = {plan_tensor(plan, node, CONVOLUTION_WEIGHT),
                             plan_buffer(plan, floats)};
    convolution_add(plan, node, work, run, 0, way, places, 2);
    return places[1];
}

struct bias {
    size_t images;
    size_t padded; /* channels */
    size_t pixels;
    size_t outputs;
};

/* at: dy, gradient w.r.t. the bias, sums */
static enum syn_status run_bias(const struct kernel *kernel, void *const at[], struct call *call)
{
    const struct bias *b = kernel->state;
    call->own->elementwise->channel_sums(at[0], b->images, b->padded, b->pixels, at[2]);
    memcpy(at[1], at[2], b->outputs * sizeof(float));
    return SYN_OK;
}

void convolution_backward_bias(struct plan *plan, const struct node *node)
{
    if (node->options.convolution.no_bias)
        return;
    struct bias state = {plan_rows(plan, node), padded_channels(node->shape.channels),
                         node->shape.height * node->shape.width, node->shape.channels};
    struct kernel kernel = {.node = node,
                            .work = "backward bias",
                            .implementation = plan->own->name,
                            .run = run_bias,
                            .places = {plan_gradient(plan, node),
                                       plan_tensor_gradient(plan, node, CONVOLUTION_BIAS),
                                       plan_buffer(plan, state.padded)},
                            .place_count = 3};
    plan_add(plan, &kernel, &state, sizeof state);
}

static void forward(struct plan *plan, const struct node *node)
{
    if (winograd_fits(plan, node))
        winograd_forward(plan, node);
    else if (pointwise_fits(plan, node))
        pointwise_forward(plan, node);
    else
        direct_forward(plan, node);
}

static void backward(struct plan *plan, const struct node *node)
{
    if (winograd_fits(plan, node))
        winograd_backward(plan, node);
    else if (pointwise_fits(plan, node))
        pointwise_backward(plan, node);
    else
        direct_backward(plan, node);
}

const struct layer_kind layer_convolution = {.name = "convolution",
                                             .help = "convolution with square kernels",
                                             .shape = shape,
                                             .tensors = tensors,
                                             .forward = forward,
                                             .backward = backward};

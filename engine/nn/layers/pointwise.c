/* 1x1 convolution (kernels/pointwise.c) as kernels of a plan. With a stride, the pixels that are
 * used are first gathered, and their gradient is scattered back. Cores share groups of pixels or,
 * for the gradient w.r.t. the weights, inputs: no sum depends on the number of cores. */
#include "engine/nn/layers/convolution.h"
#include "engine/nn/layers/subsample.h"
#include "engine/nn/parallel.h"

#define BLOCK 8

bool pointwise_fits(const struct plan *plan, const struct node *node)
{
    struct syn_convolution c = node->options.convolution;
    return plan->own->prefers_pointwise && c.kernel == 1 && c.padding == 0;
}

struct state {
    struct pointwise_shape shape;
    struct pointwise_filter filter;
    size_t bias_count; /* 0: no bias */
    bool relu;
    bool accumulate;
};

static struct state describe(const struct plan *plan, const struct node *node)
{
    size_t channels = graph_from(plan->graph, node, 0)->channels;
    return (struct state){.shape = {.images = plan_rows(plan, node),
                                    .inputs = padded_channels(channels),
                                    .outputs = padded_channels(node->shape.channels),
                                    .pixels = node->shape.height * node->shape.width},
                          .filter = {.inputs = channels,
                                     .outputs = node->shape.channels,
                                     .input_stride = 1,
                                     .output_stride = channels}};
}

/* For the gradient w.r.t. the input: outputs become inputs. */
static struct state exchange(struct state s)
{
    return (struct state){.shape = {.images = s.shape.images,
                                    .inputs = s.shape.outputs,
                                    .outputs = s.shape.inputs,
                                    .pixels = s.shape.pixels},
                          .filter = {.inputs = s.filter.outputs,
                                     .outputs = s.filter.inputs,
                                     .input_stride = s.filter.output_stride,
                                     .output_stride = s.filter.input_stride}};
}

static size_t filter_floats(const struct state *s)
{
    return s->shape.inputs * s->shape.outputs;
}

/* A piece of work for all cores. */
struct job {
    const struct state *state;
    const struct pointwise_kernels *own;
    struct pointwise_pass pass;
    float *plain;
    float *packed;
};

static void pack_part(void *context, size_t part, size_t begin, size_t end)
{
    (void)part;
    const struct job *job = context;
    job->own->pack(&job->state->filter, job->plain, job->packed, begin, end);
}

/* at: weights, packed filter */
static enum syn_status run_pack(const struct kernel *kernel, void *const at[], struct call *call)
{
    const struct state *s = kernel->state;
    struct job job = {.state = s, .own = call->own->pointwise, .plain = at[0], .packed = at[1]};
    parallel_run(call->threads, s->shape.outputs / BLOCK, pack_part, &job);
    return SYN_OK;
}

static void forward_part(void *context, size_t part, size_t begin, size_t end)
{
    (void)part;
    const struct job *job = context;
    job->own->forward(&job->pass, begin, end);
}

/* at: x, packed filter, y, bias, padded bias; for the gradient w.r.t. x: dy, packed filter, dx */
static enum syn_status run_forward(const struct kernel *kernel, void *const at[], struct call *call)
{
    const struct state *s = kernel->state;
    struct job job = {.own = call->own->pointwise,
                      .pass = {.shape = s->shape,
                               .x = at[0],
                               .filter = at[1],
                               .accumulate = s->accumulate,
                               .relu = s->relu,
                               .y = at[2]}};
    if (s->bias_count) {
        call->own->elementwise->repeat(at[3], s->bias_count, at[4], 1, s->shape.outputs);
        job.pass.bias = at[4];
    }
    parallel_run(call->threads, pointwise_groups(&s->shape), forward_part, &job);
    return SYN_OK;
}

static void gradient_part(void *context, size_t part, size_t begin, size_t end)
{
    const struct job *job = context;
    struct pointwise_pass pass = job->pass;
    pass.work += part * POINTWISE_WORK;
    job->own->gradient(&pass, &job->state->filter, job->plain, begin, end);
}

/* at: x, dy, gradient w.r.t. the weights, sums, work */
static enum syn_status run_gradient(const struct kernel *kernel, void *const at[],
                                    struct call *call)
{
    const struct state *s = kernel->state;
    struct job job = {
        .state = s,
        .own = call->own->pointwise,
        .pass = {.shape = s->shape, .x = at[0], .dy = at[1], .sums = at[3], .work = at[4]},
        .plain = at[2]};
    parallel_run(call->threads, s->shape.inputs / BLOCK, gradient_part, &job);
    return SYN_OK;
}

static struct convolution_way way_of(const struct plan *plan, const struct state *state)
{
    return (struct convolution_way){plan->own->pointwise_name, state, sizeof *state};
}

static void add(struct plan *plan, const struct node *node, const char *work, kernel_run *run,
                double gflop, const struct state *state, const struct place *places, size_t count)
{
    convolution_add(plan, node, work, run, gflop, way_of(plan, state), places, count);
}

static struct place add_filter(struct plan *plan, const struct node *node,
                               const struct state *state)
{
    return convolution_add_filter(plan, node, "pack weights", run_pack, way_of(plan, state),
                                  filter_floats(state));
}

static bool has_stride(const struct node *node)
{
    return node->options.convolution.stride > 1;
}

/* Which pixels of the input are used. */
static struct subsample pixels(const struct plan *plan, const struct node *node)
{
    const struct shape *from = graph_from(plan->graph, node, 0);
    size_t blocks = padded_channels(from->channels) / BLOCK;
    return (struct subsample){.images = plan_rows(plan, node),
                              .blocks = blocks,
                              .out_blocks = blocks,
                              .height = from->height,
                              .width = from->width,
                              .out_height = node->shape.height,
                              .out_width = node->shape.width,
                              .stride = node->options.convolution.stride};
}

/* A buffer for the pixels that are used. */
static struct place pixel_buffer(struct plan *plan, const struct state *s)
{
    return plan_buffer(plan, s->shape.images * s->shape.inputs * s->shape.pixels);
}

static struct place input(struct plan *plan, const struct node *node, const struct state *state)
{
    struct place x = plan_input(plan, node, 0);
    if (!has_stride(node))
        return x;
    struct place taken = pixel_buffer(plan, state);
    struct subsample s = pixels(plan, node);
    subsample_forward(plan, node, &s, x, taken);
    return taken;
}

void pointwise_forward(struct plan *plan, const struct node *node)
{
    struct state state = describe(plan, node);
    state.relu = plan_take_relu(plan, node);
    struct place filter = add_filter(plan, node, &state);
    struct place x = input(plan, node, &state);
    struct place places[5] = {x, filter, plan_new_output(plan, node)};
    if (!node->options.convolution.no_bias) {
        state.bias_count = node->shape.channels;
        places[3] = plan_tensor(plan, node, CONVOLUTION_BIAS);
        places[4] = plan_buffer(plan, state.shape.outputs);
    }
    add(plan, node, "forward", run_forward, convolution_gflop(plan, node), &state, places,
        state.bias_count ? 5 : 3);
}

static void backward_weights(struct plan *plan, const struct node *node)
{
    struct state state = describe(plan, node);
    struct place x = input(plan, node, &state);
    struct place places[] = {x, plan_gradient(plan, node),
                             plan_tensor_gradient(plan, node, CONVOLUTION_WEIGHT),
                             plan_buffer(plan, filter_floats(&state)),
                             plan_buffer(plan, plan->settings.threads * POINTWISE_WORK)};
    add(plan, node, "backward weights", run_gradient, convolution_gflop(plan, node), &state, places,
        5);
    convolution_backward_bias(plan, node);
}

static void backward_data(struct plan *plan, const struct node *node)
{
    struct state forward = describe(plan, node);
    struct state state = exchange(forward);
    struct place filter = add_filter(plan, node, &state);
    struct delivery delivery = plan_deliver_begin(plan, node, 0, DELIVER_ACCUMULATES);
    bool spread = has_stride(node);
    struct place to = spread ? pixel_buffer(plan, &forward) : delivery.to;
    state.accumulate = delivery.accumulate && !spread;
    struct place places[] = {plan_gradient(plan, node), filter, to};
    add(plan, node, "backward data", run_forward, convolution_gflop(plan, node), &state, places, 3);
    if (spread) {
        struct subsample s = pixels(plan, node);
        s.accumulate = delivery.accumulate;
        subsample_backward(plan, node, &s, to, delivery.to);
    }
    plan_deliver_end(plan, node, &delivery);
}

void pointwise_backward(struct plan *plan, const struct node *node)
{
    backward_weights(plan, node);
    if (plan_wants_gradient(plan, node, 0))
        backward_data(plan, node);
}

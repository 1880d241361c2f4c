/* Convolution by Winograd's method (kernels/winograd.c) as kernels of a plan. The transformed
 * filter lives only from its transformation to its use; cores share tiles. */
#include "engine/nn/layers/convolution.h"
#include "engine/nn/parallel.h"

#include <string.h>

#define CACHE_FLOATS (96 * 1024) /* cache budget for a block's transformed values */
#define LEAST_BLOCK  12
#define MOST_BLOCK   96
#define BLOCK_STEP   6 /* rows that are multiplied together */
#define LEAST_INPUTS 8 /* with fewer, the transformations cost more than they save */
#define PANEL        16

bool winograd_fits(const struct plan *plan, const struct node *node)
{
    struct syn_convolution c = node->options.convolution;
    bool known_kernel = c.kernel == 3 || c.kernel == 5;
    return known_kernel && c.stride <= 1 && c.padding < c.kernel &&
           graph_from(plan->graph, node, 0)->channels >= LEAST_INPUTS;
}

struct state {
    struct winograd_shape shape;
    struct winograd_filter filter;
    size_t images;
    size_t bias_count; /* 0: no bias */
    bool relu;
    bool accumulate;
};

static size_t across(size_t length, size_t side)
{
    return (length + side - 1) / side;
}

static size_t tiles(const struct winograd_shape *s, size_t side)
{
    return across(s->out_height, side) * across(s->out_width, side);
}

/* The larger side saves more per output, but wastes more at the edges of a small image. */
static size_t best_side(const struct winograd_shape *s)
{
    if (s->kernel == 5)
        return 2;
    return tiles(s, 4) * winograd_positions(3, 4) <= tiles(s, 2) * winograd_positions(3, 2) ? 4 : 2;
}

static size_t best_block(const struct winograd_shape *s, size_t images)
{
    size_t tile_floats = winograd_positions(s->kernel, s->side) * (s->inputs + s->outputs);
    size_t block = CACHE_FLOATS / tile_floats / BLOCK_STEP * BLOCK_STEP;
    /* A filter that does not stay in the cache is read again for every block. */
    size_t filter_floats = winograd_positions(s->kernel, s->side) * s->inputs * s->outputs;
    if (filter_floats > CACHE_FLOATS && block < 48)
        block = 48;
    if (block < LEAST_BLOCK)
        block = LEAST_BLOCK;
    if (block > MOST_BLOCK)
        block = MOST_BLOCK;
    size_t all = across(images * s->tiles, BLOCK_STEP) * BLOCK_STEP;
    return block < all ? block : all;
}

static struct state describe(const struct plan *plan, const struct node *node)
{
    const struct shape *from = graph_from(plan->graph, node, 0);
    struct syn_convolution c = node->options.convolution;
    size_t area = c.kernel * c.kernel;
    struct state s = {.shape = {.inputs = padded_channels(from->channels),
                                .outputs = padded_channels(node->shape.channels),
                                .height = from->height,
                                .width = from->width,
                                .out_height = node->shape.height,
                                .out_width = node->shape.width,
                                .kernel = c.kernel,
                                .padding = c.padding},
                      .filter = {.inputs = from->channels,
                                 .outputs = node->shape.channels,
                                 .input_stride = area,
                                 .output_stride = from->channels * area,
                                 .kernel = c.kernel},
                      .images = plan_rows(plan, node)};
    s.shape.side = s.filter.side = best_side(&s.shape);
    s.shape.tiles = tiles(&s.shape, s.shape.side);
    s.shape.block = best_block(&s.shape, s.images);
    return s;
}

/* A piece of work for all cores. */
struct job {
    const struct state *state;
    const struct nn_kernels *own;
    const float *x;
    const float *dy;
    float *filter;
    float *plain;
    float *y;
    float *work;
    const float *bias;
};

static size_t filter_floats(const struct state *s)
{
    return winograd_positions(s->shape.kernel, s->shape.side) * s->shape.inputs * s->shape.outputs;
}

static void transform_part(void *context, size_t part, size_t begin, size_t end)
{
    (void)part;
    const struct job *job = context;
    job->own->filter->transform(&job->state->filter, job->plain, job->filter, begin, end);
}

/* at: weights, transformed filter */
static enum syn_status run_filter(const struct kernel *kernel, void *const at[], struct call *call)
{
    struct job job = {.state = kernel->state, .own = call->own, .plain = at[0], .filter = at[1]};
    parallel_run(call->threads, across(job.state->filter.outputs, PANEL), transform_part, &job);
    return SYN_OK;
}

static void forward_part(void *context, size_t part, size_t begin, size_t end)
{
    const struct job *job = context;
    const struct winograd_shape *shape = &job->state->shape;
    job->own->winograd->forward(shape, job->x, job->filter, job->bias, job->state->relu, job->y,
                                job->work + part * winograd_work(shape), begin, end);
}

/* at: x, transformed filter, y, work, and if there is a bias: bias, its padded copy */
static enum syn_status run_forward(const struct kernel *kernel, void *const at[], struct call *call)
{
    const struct state *s = kernel->state;
    struct job job = {
        .state = s, .own = call->own, .x = at[0], .filter = at[1], .y = at[2], .work = at[3]};
    if (s->bias_count) {
        call->own->elementwise->repeat(at[4], s->bias_count, at[5], 1, s->shape.outputs);
        job.bias = at[5];
    }
    parallel_run(call->threads, s->images * s->shape.tiles, forward_part, &job);
    return SYN_OK;
}

static void data_part(void *context, size_t part, size_t begin, size_t end)
{
    const struct job *job = context;
    const struct winograd_shape *shape = &job->state->shape;
    size_t image = shape->inputs * shape->height * shape->width;
    if (!job->state->accumulate)
        memset(job->y + begin * image, 0, (end - begin) * image * sizeof *job->y);
    job->own->winograd->data(shape, job->dy, job->filter, job->y,
                             job->work + part * winograd_work(shape), begin * shape->tiles,
                             end * shape->tiles);
}

/* at: dy, transformed filter, dx, work */
static enum syn_status run_data(const struct kernel *kernel, void *const at[], struct call *call)
{
    const struct state *s = kernel->state;
    struct job job = {
        .state = s, .own = call->own, .dy = at[0], .filter = at[1], .y = at[2], .work = at[3]};
    parallel_run(call->threads, s->images, data_part, &job);
    return SYN_OK;
}

static void gradient_part(void *context, size_t part, size_t begin, size_t end)
{
    const struct job *job = context;
    const struct winograd_shape *shape = &job->state->shape;
    float *filter = job->filter + part * filter_floats(job->state);
    memset(filter, 0, filter_floats(job->state) * sizeof *filter);
    job->own->winograd->gradient(shape, job->x, job->dy, filter,
                                 job->work + part * winograd_work(shape), begin, end);
}

/* at: x, dy, gradient w.r.t. the transformed filter (one for each core), work */
static enum syn_status run_gradient(const struct kernel *kernel, void *const at[],
                                    struct call *call)
{
    const struct state *s = kernel->state;
    struct job job = {
        .state = s, .own = call->own, .x = at[0], .dy = at[1], .filter = at[2], .work = at[3]};
    parallel_run(call->threads, s->images * s->shape.tiles, gradient_part, &job);
    size_t floats = filter_floats(s);
    for (size_t part = 1; part < call->threads; part++)
        call->own->elementwise->add(job.filter, job.filter + part * floats, job.filter, floats,
                                    false);
    return SYN_OK;
}

static void restore_part(void *context, size_t part, size_t begin, size_t end)
{
    (void)part;
    const struct job *job = context;
    job->own->filter->restore(&job->state->filter, job->filter, job->plain, begin, end);
}

/* at: gradient w.r.t. the transformed filter, gradient w.r.t. the weights */
static enum syn_status run_restore(const struct kernel *kernel, void *const at[], struct call *call)
{
    struct job job = {.state = kernel->state, .own = call->own, .filter = at[0], .plain = at[1]};
    parallel_run(call->threads, across(job.state->filter.outputs, PANEL), restore_part, &job);
    return SYN_OK;
}

static struct convolution_way way_of(const struct plan *plan, const struct state *state)
{
    return (struct convolution_way){plan->own->winograd_name, state, sizeof *state};
}

static void add(struct plan *plan, const struct node *node, const char *work, kernel_run *run,
                double gflop, const struct state *state, const struct place *places, size_t count)
{
    convolution_add(plan, node, work, run, gflop, way_of(plan, state), places, count);
}

static struct place add_filter(struct plan *plan, const struct node *node,
                               const struct state *state)
{
    return convolution_add_filter(plan, node, "transform weights", run_filter, way_of(plan, state),
                                  filter_floats(state));
}

static struct place work_buffer(struct plan *plan, const struct state *state)
{
    return plan_buffer(plan, plan->settings.threads * winograd_work(&state->shape));
}

void winograd_forward(struct plan *plan, const struct node *node)
{
    struct state state = describe(plan, node);
    state.relu = plan_take_relu(plan, node);
    struct place filter = add_filter(plan, node, &state);
    struct place places[6] = {plan_input(plan, node, 0), filter, plan_new_output(plan, node),
                              work_buffer(plan, &state)};
    if (!node->options.convolution.no_bias) {
        state.bias_count = node->shape.channels;
        places[4] = plan_tensor(plan, node, CONVOLUTION_BIAS);
        places[5] = plan_buffer(plan, state.shape.outputs);
    }
    add(plan, node, "forward", run_forward, convolution_gflop(plan, node), &state, places,
        state.bias_count ? 6 : 4);
}

static void backward_weights(struct plan *plan, const struct node *node)
{
    struct state state = describe(plan, node);
    struct place dy = plan_gradient(plan, node);
    struct place filter = plan_buffer(plan, plan->settings.threads * filter_floats(&state));
    struct place places[] = {plan_input(plan, node, 0), dy, filter, work_buffer(plan, &state)};
    add(plan, node, "backward weights", run_gradient, convolution_gflop(plan, node), &state, places,
        4);
    struct place restored[] = {filter, plan_tensor_gradient(plan, node, CONVOLUTION_WEIGHT)};
    add(plan, node, "restore weights", run_restore, 0, &state, restored, 2);
    convolution_backward_bias(plan, node);
}

/* The filter as needed for the gradient w.r.t. the input. */
static struct winograd_filter exchange(struct winograd_filter f)
{
    return (struct winograd_filter){.inputs = f.outputs,
                                    .outputs = f.inputs,
                                    .input_stride = f.output_stride,
                                    .output_stride = f.input_stride,
                                    .kernel = f.kernel,
                                    .side = f.side};
}

void winograd_backward(struct plan *plan, const struct node *node)
{
    backward_weights(plan, node);
    if (!plan_wants_gradient(plan, node, 0))
        return;
    struct state state = describe(plan, node);
    struct state exchanged = state;
    exchanged.filter = exchange(state.filter);
    struct place filter = add_filter(plan, node, &exchanged);
    struct delivery delivery = plan_deliver_begin(plan, node, 0, DELIVER_ACCUMULATES);
    state.accumulate = delivery.accumulate;
    struct place places[] = {plan_gradient(plan, node), filter, delivery.to,
                             work_buffer(plan, &state)};
    add(plan, node, "backward data", run_data, convolution_gflop(plan, node), &state, places, 4);
    plan_deliver_end(plan, node, &delivery);
}

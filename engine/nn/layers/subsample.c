/* The shortcut without weights (He and others 2015, option A): the first of every `stride` pixels
 * of each row and column, plus channels of zeros, half of them before the others and half after.
 * Values are in blocks of eight channels, so that whole blocks are copied or left zero. */
#include <string.h>

#include "engine/nn/layers/subsample.h"
#include "engine/nn/parallel.h"

#define BLOCK 8

struct job {
    const struct subsample *state;
    const float *from;
    float *to;
};

static size_t pixels_along(size_t size, size_t stride)
{
    return (size + stride - 1) / stride;
}

static bool shape(struct syn_graph *graph, struct node *node)
{
    const struct shape *from = graph_from(graph, node, 0);
    const size_t outputs = node->options.subsample.outputs;
    const size_t stride = node->options.subsample.stride;
    if (stride < 1 || outputs < from->channels || from->channels % BLOCK != 0 ||
        (outputs - from->channels) % (2 * BLOCK) != 0)
        return graph_refuse(
            graph,
            "%s: %zu channels of %zu at stride %zu; expected multiples of 8, and of 16 "
            "for those that are added",
            node->name, outputs, from->channels, stride);
    node->shape = *from;
    node->shape.channels = outputs;
    node->shape.height = pixels_along(from->height, stride);
    node->shape.width = pixels_along(from->width, stride);
    return true;
}

static void add(struct plan *plan, const struct node *node, const char *work, kernel_run *run,
                const struct subsample *s, struct place from, struct place to)
{
    struct kernel kernel = {.node = node,
                            .work = work,
                            .implementation = "own",
                            .run = run,
                            .places = {from, to},
                            .place_count = 2};
    plan_add(plan, &kernel, s, sizeof *s);
}

/* The number of the input plane that output plane number i is copied from; SIZE_MAX: zeros. */
static size_t shown_by(const struct subsample *s, size_t i)
{
    const size_t block = i % s->out_blocks;
    const bool is_zero = block < s->before || block >= s->before + s->blocks;
    return is_zero ? SIZE_MAX : i / s->out_blocks * s->blocks + block - s->before;
}

static void forward_part(void *context, size_t part, size_t begin, size_t end)
{
    (void)part;
    const struct job *job = context;
    const struct subsample *s = job->state;
    const size_t values = s->out_height * s->out_width * BLOCK;
    for (size_t i = begin; i < end; i++) {
        float *to = job->to + i * values;
        const size_t plane = shown_by(s, i);
        if (plane == SIZE_MAX) {
            memset(to, 0, values * sizeof *to);
            continue;
        }
        const float *from = job->from + plane * s->height * s->width * BLOCK;
        for (size_t y = 0; y < s->out_height; y++)
            for (size_t x = 0; x < s->out_width; x++, to += BLOCK)
                memcpy(to, from + (y * s->width + x) * s->stride * BLOCK, BLOCK * sizeof *to);
    }
}

static void put(float *to, const float *from, bool accumulate)
{
    for (size_t i = 0; i < BLOCK; i++)
        to[i] = accumulate ? to[i] + from[i] : from[i];
}

static void gradient_part(void *context, size_t part, size_t begin, size_t end)
{
    (void)part;
    const struct job *job = context;
    const struct subsample *s = job->state;
    const size_t values = s->height * s->width * BLOCK;
    for (size_t i = begin; i < end; i++) {
        const size_t plane = i / s->blocks * s->out_blocks + s->before + i % s->blocks;
        const float *from = job->from + plane * s->out_height * s->out_width * BLOCK;
        float *to = job->to + i * values;
        if (!s->accumulate)
            memset(to, 0, values * sizeof *to);
        for (size_t y = 0; y < s->out_height; y++)
            for (size_t x = 0; x < s->out_width; x++, from += BLOCK)
                put(to + (y * s->width + x) * s->stride * BLOCK, from, s->accumulate);
    }
}

/* at: x, y */
static enum syn_status run_forward(const struct kernel *kernel, void *const at[], struct call *call)
{
    struct job job = {kernel->state, at[0], at[1]};
    parallel_run(call->threads, job.state->images * job.state->out_blocks, forward_part, &job);
    return SYN_OK;
}

/* at: dy, dx */
static enum syn_status run_gradient(const struct kernel *kernel, void *const at[],
                                    struct call *call)
{
    struct job job = {kernel->state, at[0], at[1]};
    parallel_run(call->threads, job.state->images * job.state->blocks, gradient_part, &job);
    return SYN_OK;
}

void subsample_forward(struct plan *plan, const struct node *node, const struct subsample *s,
                       struct place x, struct place y)
{
    add(plan, node, "take pixels", run_forward, s, x, y);
}

void subsample_backward(struct plan *plan, const struct node *node, const struct subsample *s,
                        struct place dy, struct place dx)
{
    add(plan, node, "spread pixels", run_gradient, s, dy, dx);
}

static struct subsample describe(const struct plan *plan, const struct node *node)
{
    const struct shape *in = graph_from(plan->graph, node, 0);
    const struct shape *out = &node->shape;
    return (struct subsample){.images = plan_rows(plan, node),
                              .blocks = in->channels / BLOCK,
                              .out_blocks = out->channels / BLOCK,
                              .before = (out->channels - in->channels) / 2 / BLOCK,
                              .height = in->height,
                              .width = in->width,
                              .out_height = out->height,
                              .out_width = out->width,
                              .stride = node->options.subsample.stride};
}

static void forward(struct plan *plan, const struct node *node)
{
    struct subsample s = describe(plan, node);
    struct place x = plan_input(plan, node, 0);
    subsample_forward(plan, node, &s, x, plan_new_output(plan, node));
}

static void backward(struct plan *plan, const struct node *node)
{
    if (!plan_wants_gradient(plan, node, 0))
        return;
    struct subsample s = describe(plan, node);
    struct delivery delivery = plan_deliver_begin(plan, node, 0, DELIVER_ACCUMULATES);
    s.accumulate = delivery.accumulate;
    subsample_backward(plan, node, &s, plan_gradient(plan, node), delivery.to);
    plan_deliver_end(plan, node, &delivery);
}

const struct layer_kind layer_subsample = {
    .name = "subsample",
    .help = "every n-th pixel, plus channels of zeros",
    .shape = shape,
    .forward = forward,
    .backward = backward,
};

/* The shortcut without weights (He and others 2015, option A): of each row and column the first of
 * every `stride` pixels, and channels of zeros, half of them before the others and half after.
 * Values lie in blocks of eight channels, so that whole blocks are copied or left zero. */
#include <string.h>

#include "engine/nn/emit.h"
#include "engine/nn/parallel.h"

#define BLOCK 8

struct state {
    size_t images;
    size_t blocks;     /* of the input */
    size_t out_blocks; /* of the output */
    size_t before;     /* blocks of zeros before the input's */
    size_t height, width;
    size_t out_height, out_width;
    size_t stride;
};

struct job {
    const struct state *state;
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
                struct place from, struct place to)
{
    const struct shape *in = graph_from(plan->graph, node, 0);
    const struct shape *out = &node->shape;
    struct state state = {.images = plan_rows(plan, node),
                          .blocks = in->channels / BLOCK,
                          .out_blocks = out->channels / BLOCK,
                          .before = (out->channels - in->channels) / 2 / BLOCK,
                          .height = in->height,
                          .width = in->width,
                          .out_height = out->height,
                          .out_width = out->width,
                          .stride = node->options.subsample.stride};
    struct kernel kernel = {.node = node,
                            .work = work,
                            .implementation = "own",
                            .run = run,
                            .places = {from, to},
                            .place_count = 2};
    plan_add(plan, &kernel, &state, sizeof state);
}

/* The plane of the input that output plane number i shows, by its number; SIZE_MAX: zeros. */
static size_t shown_by(const struct state *s, size_t i)
{
    const size_t block = i % s->out_blocks;
    const bool is_zero = block < s->before || block >= s->before + s->blocks;
    return is_zero ? SIZE_MAX : i / s->out_blocks * s->blocks + block - s->before;
}

static void forward_part(void *context, size_t part, size_t begin, size_t end)
{
    (void)part;
    const struct job *job = context;
    const struct state *s = job->state;
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

static void gradient_part(void *context, size_t part, size_t begin, size_t end)
{
    (void)part;
    const struct job *job = context;
    const struct state *s = job->state;
    const size_t values = s->height * s->width * BLOCK;
    for (size_t i = begin; i < end; i++) {
        const size_t plane = i / s->blocks * s->out_blocks + s->before + i % s->blocks;
        const float *from = job->from + plane * s->out_height * s->out_width * BLOCK;
        float *to = job->to + i * values;
        memset(to, 0, values * sizeof *to);
        for (size_t y = 0; y < s->out_height; y++)
            for (size_t x = 0; x < s->out_width; x++, from += BLOCK)
                memcpy(to + (y * s->width + x) * s->stride * BLOCK, from, BLOCK * sizeof *to);
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

static void forward(struct plan *plan, const struct node *node)
{
    struct place from = plan_input(plan, node, 0);
    add(plan, node, "forward", run_forward, from, plan_new_output(plan, node));
}

static void backward(struct plan *plan, const struct node *node)
{
    if (!plan_wants_gradient(plan, node, 0))
        return;
    struct delivery delivery = plan_deliver_begin(plan, node, 0, 0);
    add(plan, node, "backward", run_gradient, plan_gradient(plan, node), delivery.to);
    plan_deliver_end(plan, node, &delivery);
}

const struct layer_kind layer_subsample = {
    .name = "subsample",
    .help = "every n-th pixel, and channels of zeros",
    .shape = shape,
    .forward = forward,
    .backward = backward,
};

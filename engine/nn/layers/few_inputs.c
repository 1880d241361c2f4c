/* The gradient w.r.t. the weights of a convolution that reads the caller's images, where oneDNN has
 * no kernel for so few channels (kernels/few_inputs.c). Images are padded one at a time, and
 * distributed among the cores. */
#include "engine/nn/layers/convolution.h"
#include "engine/nn/parallel.h"

#include <string.h>

struct state {
    struct few_inputs_shape shape;
    size_t images;
    size_t height; /* of an image without padding */
    size_t width;
    size_t padding;
    size_t outputs; /* without padding */
};

struct job {
    const struct state *state;
    const struct nn_kernels *own;
    const float *images;
    const float *dy;
    float *work;
};

static size_t sums_floats(const struct state *s)
{
    return s->shape.outputs * s->shape.inputs * s->shape.kernel * s->shape.kernel;
}

static size_t image_floats(const struct state *s)
{
    return s->shape.inputs * s->shape.height * s->shape.width;
}

/* A core's work memory: its sums, then a padded image. */
static size_t work_floats(const struct state *s)
{
    return padded_channels(sums_floats(s) + image_floats(s));
}

static void pad(const struct state *s, const float *image, float *padded)
{
    for (size_t c = 0; c < s->shape.inputs; c++)
        for (size_t y = 0; y < s->height; y++)
            memcpy(padded + (c * s->shape.height + y + s->padding) * s->shape.width + s->padding,
                   image + (c * s->height + y) * s->width, s->width * sizeof *padded);
}

static void gradient_part(void *context, size_t part, size_t begin, size_t end)
{
    const struct job *job = context;
    const struct state *s = job->state;
    float *sums = job->work + part * work_floats(s);
    float *padded = sums + sums_floats(s);
    size_t outputs = s->shape.outputs * s->shape.out_height * s->shape.out_width;
    memset(sums, 0, work_floats(s) * sizeof *sums);
    for (size_t i = begin; i < end; i++) {
        pad(s, job->images + i * s->shape.inputs * s->height * s->width, padded);
        job->own->few_inputs->gradient(&s->shape, padded, job->dy + i * outputs, sums);
    }
}

/* Reorder [outputs / 8][filter][8] to [outputs][filter], adding up the cores' sums. */
static void collect(const struct state *s, const float *work, size_t parts, float *gradient)
{
    size_t filter = s->shape.inputs * s->shape.kernel * s->shape.kernel;
    for (size_t k = 0; k < s->outputs; k++)
        for (size_t i = 0; i < filter; i++) {
            float sum = 0;
            for (size_t part = 0; part < parts; part++)
                sum += work[part * work_floats(s) + (k / 8 * filter + i) * 8 + k % 8];
            gradient[k * filter + i] = sum;
        }
}

/* at: images, dy, work, gradient w.r.t. the weights */
static enum syn_status run(const struct kernel *kernel, void *const at[], struct call *call)
{
    struct job job = {
        .state = kernel->state, .own = call->own, .images = at[0], .dy = at[1], .work = at[2]};
    size_t parts = call->threads < job.state->images ? call->threads : job.state->images;
    parallel_run(parts, job.state->images, gradient_part, &job);
    collect(job.state, job.work, parts, at[3]);
    return SYN_OK;
}

void few_inputs_backward_weights(struct plan *plan, const struct node *node)
{
    const struct node *from = &plan->graph->nodes[node->inputs[0]];
    struct syn_convolution c = node->options.convolution;
    struct state state = {.shape = {.inputs = from->shape.channels,
                                    .outputs = padded_channels(node->shape.channels),
                                    .height = from->shape.height + 2 * c.padding,
                                    .width = from->shape.width + 2 * c.padding,
                                    .out_height = node->shape.height,
                                    .out_width = node->shape.width,
                                    .kernel = c.kernel,
                                    .stride = c.stride ? c.stride : 1},
                          .images = plan_rows(plan, node),
                          .height = from->shape.height,
                          .width = from->shape.width,
                          .padding = c.padding,
                          .outputs = node->shape.channels};
    struct kernel kernel = {
        .node = node,
        .work = "backward weights",
        .implementation = plan->own->name,
        .gflop = convolution_gflop(plan, node),
        .run = run,
        .places = {plan_output(plan, from), plan_gradient(plan, node),
                   plan_buffer(plan, plan->settings.threads * work_floats(&state)),
                   plan_tensor_gradient(plan, node, CONVOLUTION_WEIGHT)},
        .place_count = 4};
    plan_add(plan, &kernel, &state, sizeof state);
    convolution_backward_bias(plan, node);
}

/* Maxima of windows (kernels/max_pooling.c). The index of each maximum is kept, so that the
 * gradient needs neither input nor output. oneDNN 2.6 takes nine times as long where the channels
 * do not fill its blocks: 18.8 ms instead of 2.0, of the 41 ms of a LeNet step with 128 images. */
#include "engine/nn/layers/pooling.h"
#include "engine/nn/parallel.h"

struct state {
    struct max_pooling_shape shape;
    size_t planes; /* of eight channels, of all images */
};

struct job {
    const struct state *state;
    const struct nn_kernels *own;
    const float *from;
    float *to;
    uint16_t *chosen;
};

static size_t inputs(const struct max_pooling_shape *shape)
{
    return shape->height * shape->width * 8;
}

static size_t outputs(const struct max_pooling_shape *shape)
{
    return shape->out_height * shape->out_width * 8;
}

static struct state state_of(const struct plan *plan, const struct node *node)
{
    const struct shape *from = graph_from(plan->graph, node, 0);
    struct syn_pooling w = node->options.pooling.window;
    struct max_pooling_shape shape = {.height = from->height,
                                      .width = from->width,
                                      .out_height = node->shape.height,
                                      .out_width = node->shape.width,
                                      .kernel = w.kernel,
                                      .stride = w.stride ? w.stride : w.kernel,
                                      .padding = w.padding};
    return (struct state){shape, plan_size(plan, node) / outputs(&shape)};
}

static void add(struct plan *plan, const struct node *node, const char *work, kernel_run *run,
                const struct place places[3])
{
    struct state state = state_of(plan, node);
    struct kernel kernel = {.node = node,
                            .work = work,
                            .implementation = plan->own->name,
                            .run = run,
                            .places = {places[0], places[1], places[2]},
                            .place_count = plan->settings.training ? 3 : 2};
    plan_add(plan, &kernel, &state, sizeof state);
}

static void forward_part(void *context, size_t part, size_t begin, size_t end)
{
    (void)part;
    const struct job *job = context;
    const struct max_pooling_shape *shape = &job->state->shape;
    uint16_t *chosen = job->chosen ? job->chosen + begin * outputs(shape) : NULL;
    job->own->max_pooling->forward(shape, job->from + begin * inputs(shape),
                                   job->to + begin * outputs(shape), chosen, end - begin);
}

/* at: x, y, chosen indices if kept */
static enum syn_status run_forward(const struct kernel *kernel, void *const at[], struct call *call)
{
    struct job job = {.state = kernel->state, .own = call->own, .from = at[0], .to = at[1]};
    job.chosen = kernel->place_count == 3 ? at[2] : NULL;
    parallel_run(call->threads, job.state->planes, forward_part, &job);
    return SYN_OK;
}

void max_pooling_forward(struct plan *plan, const struct node *node)
{
    struct place places[3] = {plan_input(plan, node, 0), plan_new_output(plan, node)};
    if (plan->settings.training) {
        places[2] = plan_buffer(plan, (plan_size(plan, node) + 1) / 2);
        plan->values[node->number].kept[0] = places[2];
    }
    add(plan, node, "forward", run_forward, places);
}

static void gradient_part(void *context, size_t part, size_t begin, size_t end)
{
    (void)part;
    const struct job *job = context;
    const struct max_pooling_shape *shape = &job->state->shape;
    job->own->max_pooling->gradient(shape, job->from + begin * outputs(shape),
                                    job->chosen + begin * outputs(shape),
                                    job->to + begin * inputs(shape), end - begin);
}

/* at: dy, dx, chosen indices */
static enum syn_status run_gradient(const struct kernel *kernel, void *const at[],
                                    struct call *call)
{
    struct job job = {
        .state = kernel->state, .own = call->own, .from = at[0], .to = at[1], .chosen = at[2]};
    parallel_run(call->threads, job.state->planes, gradient_part, &job);
    return SYN_OK;
}

void max_pooling_backward(struct plan *plan, const struct node *node)
{
    struct delivery delivery = plan_deliver_begin(plan, node, 0, 0);
    struct place places[3] = {plan_gradient(plan, node), delivery.to,
                              plan->values[node->number].kept[0]};
    add(plan, node, "backward", run_gradient, places);
    plan_deliver_end(plan, node, &delivery);
}

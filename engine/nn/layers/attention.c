/* Causal self-attention. Heads of examples are independent of each other, so they are what cores
 * share: the same bits for any number of them. The forward pass keeps the shares, which takes time
 * x time floats for every head, rather than computing them again. */
#include "engine/nn/emit.h"
#include "engine/nn/parallel.h"

#include <string.h>

#define LANES 8

enum { SHARES }; /* kept: [examples * heads][attention_shares()] */

static bool shape(struct syn_graph *graph, struct node *node)
{
    const struct shape *from = graph_from(graph, node, 0);
    size_t heads = node->options.heads;
    if (!from->sequence || from->height * from->width != 1)
        return graph_refuse(graph, "%s: attention is for the vectors of a text", node->name);
    if (heads == 0 || from->channels % (3 * heads * LANES) != 0)
        return graph_refuse(graph,
                            "%s: %zu inputs for %zu heads; expected a query, a key and a value for "
                            "each, whose widths are multiples of %d",
                            node->name, from->channels, heads, LANES);
    node->shape =
        (struct shape){.sequence = true, .channels = from->channels / 3, .height = 1, .width = 1};
    return true;
}

struct state {
    struct attention_shape shape;
    size_t examples;
    size_t heads;
    size_t channels; /* of the output */
    bool keeps_shares;
};

struct job {
    const struct state *state;
    const struct attention_kernels *own;
    float *const *at;
};

/* Head number i of all examples; q, k and v follow each other in a row. */
static struct attention_head head_of(const struct job *job, const float *x, size_t part, size_t i,
                                     float *shares, float *work)
{
    const struct state *s = job->state;
    size_t example = i / s->heads;
    size_t column = i % s->heads * s->shape.width;
    const float *row = x + example * 3 * s->channels + column;
    return (struct attention_head){.q = row,
                                   .k = row + s->channels,
                                   .v = row + 2 * s->channels,
                                   .shares = shares + (s->keeps_shares ? i : part) *
                                                          attention_shares(&s->shape),
                                   .work = work + part * attention_work(&s->shape)};
}

/* Where head number i of the output begins. */
static size_t output_at(const struct state *s, size_t i)
{
    return i / s->heads * s->channels + i % s->heads * s->shape.width;
}

/* at: x, y, shares, work */
static void forward_part(void *context, size_t part, size_t begin, size_t end)
{
    const struct job *job = context;
    for (size_t i = begin; i < end; i++) {
        struct attention_head head = head_of(job, job->at[0], part, i, job->at[2], job->at[3]);
        head.y = job->at[1] + output_at(job->state, i);
        job->own->forward(&job->state->shape, &head);
    }
}

/* at: x, dy, shares, work, dx */
static void backward_part(void *context, size_t part, size_t begin, size_t end)
{
    const struct job *job = context;
    size_t channels = job->state->channels;
    for (size_t i = begin; i < end; i++) {
        struct attention_head head = head_of(job, job->at[0], part, i, job->at[2], job->at[3]);
        head.dy = job->at[1] + output_at(job->state, i);
        head.dq = job->at[4] + (head.q - job->at[0]);
        head.dk = head.dq + channels;
        head.dv = head.dk + channels;
        job->own->backward(&job->state->shape, &head);
    }
}

static enum syn_status run_parts(const struct kernel *kernel, void *const at[], struct call *call,
                                 parallel_body *body)
{
    float *arrays[MOST_PLACES];
    for (size_t i = 0; i < kernel->place_count; i++)
        arrays[i] = at[i];
    struct job job = {kernel->state, call->own->attention, arrays};
    parallel_run(call->threads, job.state->examples * job.state->heads, body, &job);
    return SYN_OK;
}

static enum syn_status run_forward(const struct kernel *kernel, void *const at[], struct call *call)
{
    return run_parts(kernel, at, call, forward_part);
}

static enum syn_status run_backward(const struct kernel *kernel, void *const at[],
                                    struct call *call)
{
    return run_parts(kernel, at, call, backward_part);
}

static struct state state_of(const struct plan *plan, const struct node *node)
{
    size_t count = plan->settings.count;
    size_t channels = node->shape.channels;
    return (struct state){.shape = {.time = plan->settings.time,
                                    .width = channels / node->options.heads,
                                    .input_row = count * 3 * channels,
                                    .row = count * channels},
                          .examples = count,
                          .heads = node->options.heads,
                          .channels = channels,
                          .keeps_shares = plan->settings.training};
}

/* Products on and below the diagonal only: `products` of them, time^2 / 2 by width each. */
static void add(struct plan *plan, const struct node *node, const char *work, kernel_run *run,
                double products, const struct place *places, size_t count)
{
    struct state s = state_of(plan, node);
    struct kernel kernel = {.node = node,
                            .work = work,
                            .implementation = plan->own->name,
                            .gflop = 1e-9 * products * (double)(s.shape.time * s.shape.time) *
                                     (double)(s.examples * s.channels),
                            .run = run,
                            .place_count = count};
    memcpy(kernel.places, places, count * sizeof *places);
    plan_add(plan, &kernel, &s, sizeof s);
}

static struct place work_of(struct plan *plan, const struct state *s)
{
    return plan_buffer(plan, plan->settings.threads * attention_work(&s->shape));
}

static void forward(struct plan *plan, const struct node *node)
{
    struct state s = state_of(plan, node);
    size_t kept = s.keeps_shares ? s.examples * s.heads : plan->settings.threads;
    struct place shares = plan_buffer(plan, kept * attention_shares(&s.shape));
    plan->values[node->number].kept[SHARES] = shares;
    struct place places[] = {plan_input(plan, node, 0), plan_new_output(plan, node), shares,
                             work_of(plan, &s)};
    add(plan, node, "forward", run_forward, 2, places, 4);
}

static void backward(struct plan *plan, const struct node *node)
{
    struct state s = state_of(plan, node);
    struct delivery delivery = plan_deliver_begin(plan, node, 0, 0);
    struct place places[] = {plan_input(plan, node, 0), plan_gradient(plan, node),
                             plan->values[node->number].kept[SHARES], work_of(plan, &s),
                             delivery.to};
    add(plan, node, "backward", run_backward, 4, places, 5);
    plan_deliver_end(plan, node, &delivery);
}

const struct layer_kind layer_attention = {.name = "attention",
                                           .help = "causal self-attention of several heads",
                                           .shape = shape,
                                           .forward = forward,
                                           .backward = backward};

/* Softmax and cross-entropy against the labels. In training the scores are replaced by their
 * gradient, which is then the gradient w.r.t. the output of the previous layer. */
#include "engine/nn/emit.h"
#include "engine/nn/parallel.h"

#define MOST_PARTS 256

static bool shape(struct syn_graph *graph, struct node *node)
{
    const struct shape *from = graph_from(graph, node, 0);
    if (from->height * from->width != 1)
        return graph_refuse(graph, "%s: the input is %zux%zux%zu; expected a vector of scores",
                            node->name, from->channels, from->height, from->width);
    node->shape = *from;
    return true;
}

struct state {
    struct softmax_rows rows;
    bool gradient;
};

struct job {
    const struct state *state;
    float *scores;
    const int32_t *labels;
    struct call *call;
    struct softmax_sums sums[MOST_PARTS];
};

static void run_part(void *context, size_t part, size_t begin, size_t end)
{
    struct job *job = context;
    struct softmax_rows rows = job->state->rows;
    rows.rows = end - begin;
    rows.scale = job->call->scale;
    job->call->own->softmax->run(&rows, job->scores + begin * rows.padded, job->labels + begin,
                                 job->state->gradient, &job->sums[part]);
}

static enum syn_status run(const struct kernel *kernel, void *const at[], struct call *call)
{
    struct job job = {.state = kernel->state, .scores = at[0], .labels = at[1], .call = call};
    size_t threads = call->threads < MOST_PARTS ? call->threads : MOST_PARTS;
    parallel_run(threads, job.state->rows.rows, run_part, &job);
    for (size_t i = 0; i < threads; i++) {
        call->sums.loss += job.sums[i].loss;
        call->sums.correct += job.sums[i].correct;
    }
    return SYN_OK;
}

static void forward(struct plan *plan, const struct node *node)
{
    struct state state = {.rows = {.rows = plan_rows(plan, node),
                                   .classes = node->shape.channels,
                                   .padded = padded_channels(node->shape.channels)},
                          .gradient = plan->settings.training};
    struct kernel kernel = {.node = node,
                            .work = "forward",
                            .implementation = plan->own->name,
                            .run = run,
                            .places = {plan_input(plan, node, 0), {REGION_LABELS, 0}},
                            .place_count = 2};
    plan_add(plan, &kernel, &state, sizeof state);
    plan_set_output(plan, node, plan_input(plan, node, 0));
}

static void backward(struct plan *plan, const struct node *node)
{
    plan_start_gradient(plan, node, 0, plan_output(plan, node));
}

const struct layer_kind layer_cross_entropy = {.name = "cross_entropy",
                                               .help = "softmax and cross-entropy",
                                               .shape = shape,
                                               .forward = forward,
                                               .backward = backward};

/* Batch norm, by oneDNN, with a ReLU in the same pass if requested:
 *
 *     y = weight (x - mean) / sqrt(variance + epsilon) + bias
 *
 * mean and variance over batch and pixels of each channel. Running statistics move by a tenth of
 * the difference in each step; the stored variance is the unbiased one, as in PyTorch. */
#include "engine/nn/onednn.h"

#define EPSILON  1e-5f
#define MOMENTUM 0.1f

/* Its arrays, and what it keeps for the backward pass; the mask is the ReLU's. */
enum { WEIGHT, BIAS, RUNNING_MEAN, RUNNING_VARIANCE };
enum { MEAN, VARIANCE, MASK };

static bool shape(struct syn_graph *graph, struct node *node)
{
    node->shape = *graph_from(graph, node, 0);
    return true;
}

static size_t tensors(const struct syn_graph *graph, const struct node *node,
                      struct tensor *tensors)
{
    (void)graph;
    size_t channels = node->shape.channels;
    tensors[WEIGHT] = (struct tensor){SPACE_WEIGHTS, "weight", SHAPE(channels), START_ONE, 0};
    tensors[BIAS] = (struct tensor){SPACE_WEIGHTS, "bias", SHAPE(channels), START_ZERO, 0};
    tensors[RUNNING_MEAN] =
        (struct tensor){SPACE_STATISTICS, "running_mean", SHAPE(channels), START_ZERO, 0};
    tensors[RUNNING_VARIANCE] =
        (struct tensor){SPACE_STATISTICS, "running_var", SHAPE(channels), START_ONE, 0};
    return 4;
}

struct statistics {
    size_t channels;
    float unbiased; /* factor of the variance */
};

static enum syn_status run_statistics(const struct kernel *kernel, void *const at[],
                                      struct call *call)
{
    (void)call;
    const struct statistics *s = kernel->state;
    const float *mean = at[0];
    const float *variance = at[1];
    float *running_mean = at[2];
    float *running_variance = at[3];
    for (size_t i = 0; i < s->channels; i++) {
        running_mean[i] += MOMENTUM * (mean[i] - running_mean[i]);
        running_variance[i] += MOMENTUM * (variance[i] * s->unbiased - running_variance[i]);
    }
    return SYN_OK;
}

static void add_statistics(struct plan *plan, const struct node *node, struct place mean,
                           struct place variance)
{
    double values = (double)(plan_rows(plan, node) * node->shape.height * node->shape.width);
    struct statistics state = {node->shape.channels,
                               values > 1 ? (float)(values / (values - 1)) : 1.0f};
    struct kernel kernel = {.node = node,
                            .work = "running statistics",
                            .implementation = plan->own->name,
                            .run = run_statistics,
                            .places = {mean, variance, plan_tensor(plan, node, RUNNING_MEAN),
                                       plan_tensor(plan, node, RUNNING_VARIANCE)},
                            .place_count = 4};
    plan_add(plan, &kernel, &state, sizeof state);
}

static struct dnnl_primitive_desc *choose(struct plan *plan, const struct node *node,
                                          enum onednn_pass pass)
{
    struct onednn_operation operation = {.kind = ONEDNN_BATCH_NORM,
                                         .pass = pass,
                                         .x = ONEDNN_BLOCKED,
                                         .y = ONEDNN_BLOCKED,
                                         .epsilon = EPSILON,
                                         .relu = node->options.relu};
    return onednn_choose(plan, node, &operation, true);
}

static void forward_training(struct plan *plan, const struct node *node)
{
    struct place x = plan_input(plan, node, 0);
    struct dnnl_primitive_desc *primitive = choose(plan, node, ONEDNN_FORWARD);
    struct place *kept = plan->values[node->number].kept;
    kept[MEAN] = plan_buffer(plan, node->shape.channels);
    kept[VARIANCE] = plan_buffer(plan, node->shape.channels);
    kept[MASK] = plan_buffer(plan, onednn_workspace(primitive));
    struct onednn_argument arguments[] = {{ONEDNN_X, x},
                                          {ONEDNN_Y, plan_new_output(plan, node)},
                                          {ONEDNN_SCALE, plan_tensor(plan, node, WEIGHT)},
                                          {ONEDNN_SHIFT, plan_tensor(plan, node, BIAS)},
                                          {ONEDNN_MEANS, kept[MEAN]},
                                          {ONEDNN_VARIANCES, kept[VARIANCE]},
                                          {ONEDNN_WORKSPACE, kept[MASK]}};
    onednn_add(plan, node, "forward", 0, primitive, arguments, node->options.relu ? 7 : 6);
    add_statistics(plan, node, kept[MEAN], kept[VARIANCE]);
}

static void forward_evaluating(struct plan *plan, const struct node *node)
{
    struct place x = plan_input(plan, node, 0);
    struct place y = x;
    if (plan_may_overwrite(plan, node, 0))
        plan_set_output(plan, node, y);
    else
        y = plan_new_output(plan, node);
    struct onednn_argument arguments[] = {
        {ONEDNN_X, x},
        {ONEDNN_Y, y},
        {ONEDNN_SCALE, plan_tensor(plan, node, WEIGHT)},
        {ONEDNN_SHIFT, plan_tensor(plan, node, BIAS)},
        {ONEDNN_MEANS, plan_tensor(plan, node, RUNNING_MEAN)},
        {ONEDNN_VARIANCES, plan_tensor(plan, node, RUNNING_VARIANCE)}};
    onednn_add(plan, node, "forward", 0, choose(plan, node, ONEDNN_FORWARD), arguments, 6);
}

static void forward(struct plan *plan, const struct node *node)
{
    if (plan->settings.training)
        forward_training(plan, node);
    else
        forward_evaluating(plan, node);
}

static void backward(struct plan *plan, const struct node *node)
{
    const struct place *kept = plan->values[node->number].kept;
    struct delivery delivery = plan_deliver_begin(plan, node, 0, DELIVER_IN_PLACE);
    struct onednn_argument arguments[] = {{ONEDNN_X, plan_input(plan, node, 0)},
                                          {ONEDNN_DY, plan_gradient(plan, node)},
                                          {ONEDNN_DX, delivery.to},
                                          {ONEDNN_SCALE, plan_tensor(plan, node, WEIGHT)},
                                          {ONEDNN_BACKWARD_SHIFT, plan_tensor(plan, node, BIAS)},
                                          {ONEDNN_DSCALE, plan_tensor_gradient(plan, node, WEIGHT)},
                                          {ONEDNN_DSHIFT, plan_tensor_gradient(plan, node, BIAS)},
                                          {ONEDNN_MEANS, kept[MEAN]},
                                          {ONEDNN_VARIANCES, kept[VARIANCE]},
                                          {ONEDNN_WORKSPACE, kept[MASK]}};
    onednn_add(plan, node, "backward", 0, choose(plan, node, ONEDNN_BACKWARD_DATA), arguments,
               node->options.relu ? 10 : 9);
    plan_deliver_end(plan, node, &delivery);
}

const struct layer_kind layer_batch_norm = {.name = "batch_norm",
                                            .help = "batch norm, with an optional ReLU",
                                            .shape = shape,
                                            .tensors = tensors,
                                            .forward = forward,
                                            .backward = backward};

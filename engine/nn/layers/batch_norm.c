/* Batch norm, by oneDNN, with the ReLU behind it in the same pass if asked for:
 *
 *     y = weight (x - mean) / sqrt(variance + epsilon) + bias
 *
 * mean and variance over batch and pixels of each channel. Running statistics follow by a tenth of
 * the difference each step; the variance that is kept is the unbiased one, as in PyTorch. */
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
    tensors[WEIGHT] = (struct tensor){SPACE_WEIGHTS, "weight", channels, START_ONE, 0};
    tensors[BIAS] = (struct tensor){SPACE_WEIGHTS, "bias", channels, START_ZERO, 0};
    tensors[RUNNING_MEAN] =
        (struct tensor){SPACE_STATISTICS, "running_mean", channels, START_ZERO, 0};
    tensors[RUNNING_VARIANCE] =
        (struct tensor){SPACE_STATISTICS, "running_var", channels, START_ONE, 0};
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

static unsigned flags(const struct node *node)
{
    unsigned relu = node->options.relu ? (unsigned)dnnl_fuse_norm_relu : 0u;
    return (unsigned)dnnl_use_scale | (unsigned)dnnl_use_shift | relu;
}

static dnnl_primitive_desc_t describe_training(struct plan *plan, const struct node *node)
{
    dnnl_memory_desc_t x = onednn_blocked(plan, node);
    dnnl_batch_normalization_desc_t operation;
    dnnl_batch_normalization_forward_desc_init(&operation, dnnl_forward_training, &x, EPSILON,
                                               flags(node));
    return onednn_choose(plan, &operation, plan->onednn->plain, NULL, true);
}

static size_t workspace_floats(dnnl_primitive_desc_t primitive)
{
    const dnnl_memory_desc_t *order =
        primitive ? dnnl_primitive_desc_query_md(primitive, dnnl_query_workspace_md, 0) : NULL;
    return order ? dnnl_memory_desc_get_size(order) / sizeof(float) + 1 : 1;
}

static void forward_training(struct plan *plan, const struct node *node)
{
    struct place x = plan_input(plan, node, 0);
    dnnl_primitive_desc_t primitive = describe_training(plan, node);
    struct place *kept = plan->values[node->number].kept;
    kept[MEAN] = plan_buffer(plan, node->shape.channels);
    kept[VARIANCE] = plan_buffer(plan, node->shape.channels);
    kept[MASK] = plan_buffer(plan, workspace_floats(primitive));
    struct onednn_argument arguments[] = {{DNNL_ARG_SRC, x},
                                          {DNNL_ARG_DST, plan_new_output(plan, node)},
                                          {DNNL_ARG_SCALE, plan_tensor(plan, node, WEIGHT)},
                                          {DNNL_ARG_SHIFT, plan_tensor(plan, node, BIAS)},
                                          {DNNL_ARG_MEAN, kept[MEAN]},
                                          {DNNL_ARG_VARIANCE, kept[VARIANCE]},
                                          {DNNL_ARG_WORKSPACE, kept[MASK]}};
    onednn_add(plan, node, "forward", 0, primitive, arguments, node->options.relu ? 7 : 6);
    add_statistics(plan, node, kept[MEAN], kept[VARIANCE]);
}

static void forward_judging(struct plan *plan, const struct node *node)
{
    struct place x = plan_input(plan, node, 0);
    struct place y = x;
    if (plan_may_overwrite(plan, node, 0))
        plan_set_output(plan, node, y);
    else
        y = plan_new_output(plan, node);
    dnnl_memory_desc_t order = onednn_blocked(plan, node);
    dnnl_batch_normalization_desc_t operation;
    dnnl_batch_normalization_forward_desc_init(&operation, dnnl_forward_inference, &order, EPSILON,
                                               flags(node) | dnnl_use_global_stats);
    struct onednn_argument arguments[] = {
        {DNNL_ARG_SRC, x},
        {DNNL_ARG_DST, y},
        {DNNL_ARG_SCALE, plan_tensor(plan, node, WEIGHT)},
        {DNNL_ARG_SHIFT, plan_tensor(plan, node, BIAS)},
        {DNNL_ARG_MEAN, plan_tensor(plan, node, RUNNING_MEAN)},
        {DNNL_ARG_VARIANCE, plan_tensor(plan, node, RUNNING_VARIANCE)}};
    onednn_add(plan, node, "forward", 0,
               onednn_choose(plan, &operation, plan->onednn->plain, NULL, true), arguments, 6);
}

static void forward(struct plan *plan, const struct node *node)
{
    if (plan->settings.training)
        forward_training(plan, node);
    else
        forward_judging(plan, node);
}

static void backward(struct plan *plan, const struct node *node)
{
    const struct place *kept = plan->values[node->number].kept;
    dnnl_memory_desc_t order = onednn_blocked(plan, node);
    dnnl_batch_normalization_desc_t operation;
    dnnl_batch_normalization_backward_desc_init(&operation, dnnl_backward, &order, &order, EPSILON,
                                                flags(node));
    dnnl_primitive_desc_t hint = describe_training(plan, node);
    if (!hint)
        return;
    dnnl_primitive_desc_t primitive =
        onednn_choose(plan, &operation, plan->onednn->plain, hint, true);
    dnnl_primitive_desc_destroy(hint);
    struct delivery delivery = plan_deliver_begin(plan, node, 0, DELIVER_IN_PLACE);
    struct onednn_argument arguments[] = {
        {DNNL_ARG_SRC, plan_input(plan, node, 0)},
        {DNNL_ARG_DIFF_DST, plan_gradient(plan, node)},
        {DNNL_ARG_DIFF_SRC, delivery.to},
        {DNNL_ARG_SCALE, plan_tensor(plan, node, WEIGHT)},
        {DNNL_ARG_SHIFT, plan_tensor(plan, node, BIAS)},
        {DNNL_ARG_DIFF_SCALE, plan_tensor_gradient(plan, node, WEIGHT)},
        {DNNL_ARG_DIFF_SHIFT, plan_tensor_gradient(plan, node, BIAS)},
        {DNNL_ARG_MEAN, kept[MEAN]},
        {DNNL_ARG_VARIANCE, kept[VARIANCE]},
        {DNNL_ARG_WORKSPACE, kept[MASK]}};
    onednn_add(plan, node, "backward", 0, primitive, arguments, node->options.relu ? 10 : 9);
    plan_deliver_end(plan, node, &delivery);
}

const struct layer_kind layer_batch_norm = {.name = "batch_norm",
                                            .help = "batch norm, and ReLU if asked for",
                                            .shape = shape,
                                            .tensors = tensors,
                                            .forward = forward,
                                            .backward = backward};

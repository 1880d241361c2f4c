/* The input of an image model: read in place from the caller's array, in plain order. */
#include "engine/nn/emit.h"

static bool shape(struct syn_graph *graph, struct node *node)
{
    if (shape_values(&node->shape) == 0)
        return graph_refuse(graph, "images of %zux%zux%zu values", node->shape.channels,
                            node->shape.height, node->shape.width);
    return true;
}

static void forward(struct plan *plan, const struct node *node)
{
    plan_set_output(plan, node, (struct place){REGION_IMAGES, 0});
}

const struct layer_kind layer_images = {
    .name = "images", .help = "input: images", .shape = shape, .forward = forward};

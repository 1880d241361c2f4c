/* AlexNet in its single-column form (torchvision's): five convolutions, three inner products with
 * dropout before the first two. */
#include "engine/nn/ready.h"

static syn_node rectified(struct syn_graph *g, const char *name, syn_node x,
                          struct syn_convolution convolution)
{
    return syn_graph_relu(g, syn_graph_convolution(g, name, x, convolution));
}

static syn_node layers(struct syn_graph *g, const struct model_kind *kind,
                       const struct syn_input *input)
{
    const struct syn_pooling pooling = {.kernel = 3, .stride = 2};
    (void)kind;
    syn_node x = syn_graph_images(g, input->channels, input->height, input->width);
    x = rectified(g, "conv1", x,
                  (struct syn_convolution){.outputs = 64, .kernel = 11, .stride = 4, .padding = 2});
    x = syn_graph_max_pooling(g, x, pooling);
    x = rectified(g, "conv2", x,
                  (struct syn_convolution){.outputs = 192, .kernel = 5, .padding = 2});
    x = syn_graph_max_pooling(g, x, pooling);
    x = rectified(g, "conv3", x,
                  (struct syn_convolution){.outputs = 384, .kernel = 3, .padding = 1});
    x = rectified(g, "conv4", x,
                  (struct syn_convolution){.outputs = 256, .kernel = 3, .padding = 1});
    x = rectified(g, "conv5", x,
                  (struct syn_convolution){.outputs = 256, .kernel = 3, .padding = 1});
    x = syn_graph_max_pooling(g, x, pooling);
    x = syn_graph_inner_product(g, "fc1", syn_graph_dropout(g, x, 0.5), 4096);
    x = syn_graph_dropout(g, syn_graph_relu(g, x), 0.5);
    x = syn_graph_relu(g, syn_graph_inner_product(g, "fc2", x, 4096));
    return syn_graph_inner_product(g, "fc3", x, input->classes);
}

static const struct model_kind kinds[] = {
    {"alexnet", "AlexNet for 224x224 images", IMAGES(3, 224, 1000), 63, 8, layers},
};

const struct model_family family_alexnet = MODEL_FAMILY(kinds);

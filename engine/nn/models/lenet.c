/* LeNet in the form that Caffe popularised: 20 and 50 kernels of 5x5 with pooling, 500 hidden
 * values. */
#include "engine/nn/ready.h"

static syn_node layers(struct syn_graph *g, const struct model_kind *kind,
                       const struct syn_input *input)
{
    const struct syn_pooling halves = {.kernel = 2};
    syn_node x = syn_graph_images(g, input->channels, input->height, input->width);
    x = syn_graph_convolution(g, "conv1", x, (struct syn_convolution){.outputs = 20, .kernel = 5});
    x = syn_graph_max_pooling(g, x, halves);
    x = syn_graph_convolution(g, "conv2", x, (struct syn_convolution){.outputs = 50, .kernel = 5});
    x = syn_graph_max_pooling(g, x, halves);
    x = syn_graph_relu(g, syn_graph_inner_product(g, "fc1", x, (size_t)kind->size));
    return syn_graph_inner_product(g, "fc2", x, input->classes);
}

static const struct model_kind kinds[] = {
    {"lenet", "LeNet, 20-50-500, for 28x28 images", IMAGES(1, 28, 10), 16, 500, layers},
};

const struct model_family family_lenet = MODEL_FAMILY(kinds);

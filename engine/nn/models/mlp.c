/* The multi-layer perceptron 784-512-512-classes. */
#include "engine/nn/ready.h"

static syn_node layers(struct syn_graph *g, const struct model_kind *kind,
                       const struct syn_input *input)
{
    syn_node x = syn_graph_images(g, input->channels, input->height, input->width);
    x = syn_graph_relu(g, syn_graph_inner_product(g, "fc1", x, (size_t)kind->size));
    x = syn_graph_relu(g, syn_graph_inner_product(g, "fc2", x, (size_t)kind->size));
    return syn_graph_inner_product(g, "fc3", x, input->classes);
}

static const struct model_kind kinds[] = {
    {"mlp", "perceptron with two hidden layers of 512, for 28x28 images", IMAGES(1, 28, 10), 1, 512,
     layers},
};

const struct model_family family_mlp = MODEL_FAMILY(kinds);

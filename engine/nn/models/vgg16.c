/* VGG-16 for CIFAR: thirteen 3x3 convolutions with batch norm, pooled five times to one pixel, one
 * inner product. */
#include "engine/nn/ready.h"

#include <stdio.h>

static syn_node layers(struct syn_graph *g, const struct model_kind *kind,
                       const struct syn_input *input)
{
    static const struct {
        size_t outputs;
        int count;
    } stages[] = {{64, 2}, {128, 2}, {256, 3}, {512, 3}, {512, 3}};
    (void)kind;
    syn_node x = syn_graph_images(g, input->channels, input->height, input->width);
    for (int stage = 0; stage < 5; stage++) {
        for (int i = 0; i < stages[stage].count; i++) {
            char name[64];
            const struct syn_convolution convolution = {
                .outputs = stages[stage].outputs, .kernel = 3, .padding = 1, .no_bias = true};
            snprintf(name, sizeof name, "features.conv%d_%d", stage + 1, i + 1);
            x = syn_graph_convolution(g, name, x, convolution);
            snprintf(name, sizeof name, "features.bn%d_%d", stage + 1, i + 1);
            x = syn_graph_batch_norm(g, name, x, true);
        }
        x = syn_graph_max_pooling(g, x, (struct syn_pooling){.kernel = 2});
    }
    return syn_graph_inner_product(g, "fc", x, input->classes);
}

static const struct model_kind kinds[] = {
    {"vgg16", "VGG-16 with batch norm for 32x32 images", IMAGES(3, 32, 10), 32, 16, layers},
};

const struct model_family family_vgg16 = MODEL_FAMILY(kinds);

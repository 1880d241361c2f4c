/* ResNet-50: four stages of bottleneck blocks (1x1, 3x3, 1x1), with the stride in the 3x3, as in
 * torchvision. */
#include <stdio.h>

#include "engine/nn/models/residual.h"
#include "engine/nn/ready.h"

static syn_node block(struct syn_graph *g, const char *prefix, syn_node x, size_t width,
                      size_t stride, bool projects)
{
    syn_node y = residual_normalised(g, prefix, "conv1", "bn1", x,
                                     (struct syn_convolution){.outputs = width, .kernel = 1}, true);
    y = residual_normalised(
        g, prefix, "conv2", "bn2", y,
        (struct syn_convolution){.outputs = width, .kernel = 3, .stride = stride, .padding = 1},
        true);
    y = residual_normalised(g, prefix, "conv3", "bn3", y,
                            (struct syn_convolution){.outputs = 4 * width, .kernel = 1}, false);
    if (projects)
        x = residual_normalised(
            g, prefix, "down.0", "down.1", x,
            (struct syn_convolution){.outputs = 4 * width, .kernel = 1, .stride = stride}, false);
    return syn_graph_add(g, y, x, true);
}

static syn_node layers(struct syn_graph *g, const struct model_kind *kind,
                       const struct syn_input *input)
{
    static const int blocks[] = {3, 4, 6, 3};
    (void)kind;
    syn_node x = syn_graph_images(g, input->channels, input->height, input->width);
    x = residual_normalised(
        g, "", "conv1", "bn1", x,
        (struct syn_convolution){.outputs = 64, .kernel = 7, .stride = 2, .padding = 3}, true);
    x = syn_graph_max_pooling(g, x, (struct syn_pooling){.kernel = 3, .stride = 2, .padding = 1});
    for (int stage = 0; stage < 4; stage++)
        for (int i = 0; i < blocks[stage]; i++) {
            char prefix[32];
            size_t stride = stage > 0 && i == 0 ? 2 : 1;
            snprintf(prefix, sizeof prefix, "layer%d.%d.", stage + 1, i);
            x = block(g, prefix, x, (size_t)64 << stage, stride, i == 0);
        }
    return syn_graph_inner_product(g, "fc", syn_graph_global_average(g, x), input->classes);
}

static const struct model_kind kinds[] = {
    {"resnet50", "ResNet-50 for 224x224 images", IMAGES(3, 224, 1000), 32, 50, layers},
};

const struct model_family family_resnet50 = MODEL_FAMILY(kinds);

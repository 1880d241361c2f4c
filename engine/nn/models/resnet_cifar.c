/* The residual networks for CIFAR, of 6 n + 2 layers: three stages of n blocks with 16, 32 and 64
 * channels. Where the shape changes, the shortcut is a 1x1 convolution with batch norm. */
#include "engine/nn/ready.h"

#include <stdio.h>

static syn_node block(struct syn_graph *g, const char *prefix, syn_node x, size_t outputs,
                      size_t stride, bool projects)
{
    char name[64];
    const struct syn_convolution first = {
        .outputs = outputs, .kernel = 3, .stride = stride, .padding = 1, .no_bias = true};
    const struct syn_convolution second = {
        .outputs = outputs, .kernel = 3, .padding = 1, .no_bias = true};
    const struct syn_convolution projection = {
        .outputs = outputs, .kernel = 1, .stride = stride, .no_bias = true};
    snprintf(name, sizeof name, "%s.conv1", prefix);
    syn_node y = syn_graph_convolution(g, name, x, first);
    snprintf(name, sizeof name, "%s.bn1", prefix);
    y = syn_graph_batch_norm(g, name, y, true);
    snprintf(name, sizeof name, "%s.conv2", prefix);
    y = syn_graph_convolution(g, name, y, second);
    snprintf(name, sizeof name, "%s.bn2", prefix);
    y = syn_graph_batch_norm(g, name, y, false);
    if (projects) {
        snprintf(name, sizeof name, "%s.down.0", prefix);
        x = syn_graph_convolution(g, name, x, projection);
        snprintf(name, sizeof name, "%s.down.1", prefix);
        x = syn_graph_batch_norm(g, name, x, false);
    }
    return syn_graph_add(g, y, x, true);
}

static syn_node layers(struct syn_graph *g, const struct model_kind *kind,
                       const struct syn_input *input)
{
    int blocks = (kind->size - 2) / 6;
    syn_node x = syn_graph_images(g, input->channels, input->height, input->width);
    x = syn_graph_convolution(
        g, "conv1", x,
        (struct syn_convolution){.outputs = 16, .kernel = 3, .padding = 1, .no_bias = true});
    x = syn_graph_batch_norm(g, "bn1", x, true);
    for (int stage = 1; stage <= 3; stage++)
        for (int i = 0; i < blocks; i++) {
            char prefix[32];
            bool projects = stage > 1 && i == 0;
            snprintf(prefix, sizeof prefix, "layer%d.%d", stage, i);
            x = block(g, prefix, x, (size_t)8 << stage, projects ? 2 : 1, projects);
        }
    return syn_graph_inner_product(g, "fc", syn_graph_global_average(g, x), input->classes);
}

static const struct model_kind kinds[] = {
    {"resnet20", "residual network of 20 layers for 32x32 images", IMAGES(3, 32, 10), 8, 20,
     layers},
    {"resnet56", "residual network of 56 layers for 32x32 images", IMAGES(3, 32, 10), 8, 56,
     layers},
    {"resnet110", "residual network of 110 layers for 32x32 images", IMAGES(3, 32, 10), 8, 110,
     layers},
};

const struct model_family family_resnet_cifar = MODEL_FAMILY(kinds);

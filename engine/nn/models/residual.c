/* Basic blocks, for the networks of 6 n + 2 layers and for ResNet-18. */
#include "engine/nn/models/residual.h"

#include <stdio.h>

syn_node residual_normalised(struct syn_graph *g, const char *prefix, const char *convolution,
                             const char *norm, syn_node x, struct syn_convolution options,
                             bool relu)
{
    char name[64];
    options.no_bias = true;
    snprintf(name, sizeof name, "%s%s", prefix, convolution);
    x = syn_graph_convolution(g, name, x, options);
    snprintf(name, sizeof name, "%s%s", prefix, norm);
    return syn_graph_batch_norm(g, name, x, relu);
}

syn_node residual_block(struct syn_graph *g, const char *prefix, syn_node x, size_t outputs,
                        size_t stride, bool changes, enum residual_shortcut shortcut)
{
    const struct syn_convolution first = {
        .outputs = outputs, .kernel = 3, .stride = stride, .padding = 1};
    const struct syn_convolution second = {.outputs = outputs, .kernel = 3, .padding = 1};
    const struct syn_convolution projection = {.outputs = outputs, .kernel = 1, .stride = stride};
    syn_node y = residual_normalised(g, prefix, "conv1", "bn1", x, first, true);
    y = residual_normalised(g, prefix, "conv2", "bn2", y, second, false);
    if (changes && shortcut == SHORTCUT_PROJECTS)
        x = residual_normalised(g, prefix, "down.0", "down.1", x, projection, false);
    else if (changes)
        x = syn_graph_subsample(g, x, outputs, stride);
    return syn_graph_add(g, y, x, true);
}

syn_node residual_stage(struct syn_graph *g, int number, int blocks, syn_node x, size_t outputs,
                        size_t stride, enum residual_shortcut shortcut)
{
    for (int i = 0; i < blocks; i++) {
        char prefix[32];
        bool changes = i == 0 && stride > 1;
        snprintf(prefix, sizeof prefix, "layer%d.%d.", number, i);
        x = residual_block(g, prefix, x, outputs, i == 0 ? stride : 1, changes, shortcut);
    }
    return x;
}

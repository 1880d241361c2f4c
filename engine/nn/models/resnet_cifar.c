/* The residual networks for CIFAR, of 6 n + 2 layers: three stages of n blocks with 16, 32 and 64
 * channels. Where the shape changes, the shortcut is a 1x1 convolution with batch norm; in those
 * whose name ends in -a it has no weights, as in the paper's own results on CIFAR-10. */
#include "engine/nn/models/residual.h"
#include "engine/nn/ready.h"

static syn_node add_layers(struct syn_graph *g, const struct model_kind *kind,
                           const struct syn_input *input, enum residual_shortcut shortcut)
{
    int blocks = (kind->size - 2) / 6;
    syn_node x = syn_graph_images(g, input->channels, input->height, input->width);
    x = syn_graph_convolution(
        g, "conv1", x,
        (struct syn_convolution){.outputs = 16, .kernel = 3, .padding = 1, .no_bias = true});
    x = syn_graph_batch_norm(g, "bn1", x, true);
    for (int stage = 1; stage <= 3; stage++)
        x = residual_stage(g, stage, blocks, x, (size_t)8 << stage, stage > 1 ? 2 : 1, shortcut);
    return syn_graph_inner_product(g, "fc", syn_graph_global_average(g, x), input->classes);
}

static syn_node layers(struct syn_graph *g, const struct model_kind *kind,
                       const struct syn_input *input)
{
    return add_layers(g, kind, input, SHORTCUT_PROJECTS);
}

static syn_node padded_layers(struct syn_graph *g, const struct model_kind *kind,
                              const struct syn_input *input)
{
    return add_layers(g, kind, input, SHORTCUT_PADS);
}

static const struct model_kind kinds[] = {
    {"resnet20", "residual network of 20 layers for 32x32 images", IMAGES(3, 32, 10), 8, 20,
     layers},
    {"resnet56", "residual network of 56 layers for 32x32 images", IMAGES(3, 32, 10), 8, 56,
     layers},
    {"resnet110", "residual network of 110 layers for 32x32 images", IMAGES(3, 32, 10), 8, 110,
     layers},
    {"resnet20-a", "like resnet20, with shortcuts without weights (option A)", IMAGES(3, 32, 10), 8,
     20, padded_layers},
    {"resnet56-a", "like resnet56, with shortcuts without weights (option A)", IMAGES(3, 32, 10), 8,
     56, padded_layers},
    {"resnet110-a", "like resnet110, with shortcuts without weights (option A)", IMAGES(3, 32, 10),
     8, 110, padded_layers},
};

const struct model_family family_resnet_cifar = MODEL_FAMILY(kinds);

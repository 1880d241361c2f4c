/* ResNet-18: a 7x7 convolution and pooling, then four stages of two basic blocks, as in
 * torchvision. */
#include "engine/nn/models/residual.h"
#include "engine/nn/ready.h"

static syn_node layers(struct syn_graph *g, const struct model_kind *kind,
                       const struct syn_input *input)
{
    (void)kind;
    syn_node x = syn_graph_images(g, input->channels, input->height, input->width);
    x = syn_graph_convolution(
        g, "conv1", x,
        (struct syn_convolution){
            .outputs = 64, .kernel = 7, .stride = 2, .padding = 3, .no_bias = true});
    x = syn_graph_batch_norm(g, "bn1", x, true);
    x = syn_graph_max_pooling(g, x, (struct syn_pooling){.kernel = 3, .stride = 2, .padding = 1});
    for (int stage = 0; stage < 4; stage++)
        x = residual_stage(g, stage + 1, 2, x, (size_t)64 << stage, stage > 0 ? 2 : 1,
                           SHORTCUT_PROJECTS);
    return syn_graph_inner_product(g, "fc", syn_graph_global_average(g, x), input->classes);
}

static const struct model_kind kinds[] = {
    {"resnet18", "ResNet-18 for 224x224 images", IMAGES(3, 224, 1000), 32, 18, layers},
};

const struct model_family family_resnet18 = MODEL_FAMILY(kinds);

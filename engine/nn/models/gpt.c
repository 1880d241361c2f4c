/* A small GPT: blocks of causal self-attention and of a feed-forward network, each after a layer
 * norm and added to what it read, as in GPT-2; scores by the vectors of the words themselves. The
 * names are those of examples/torch_gpt.py. */
#include "engine/nn/ready.h"

#include <math.h>
#include <stdio.h>

#define WIDTH  128
#define HEADS  4
#define LENGTH 64 /* time steps at most */

#define DEVIATION 0.02 /* of the initial weights */

static syn_node product(struct syn_graph *g, int block, const char *name, syn_node x,
                        size_t outputs, double deviation)
{
    char full[64];
    snprintf(full, sizeof full, "blocks.%d.%s", block, name);
    x = syn_graph_inner_product(g, full, x, outputs);
    syn_graph_deviation(g, x, deviation);
    return x;
}

static syn_node norm(struct syn_graph *g, int block, const char *name, syn_node x)
{
    char full[64];
    snprintf(full, sizeof full, "blocks.%d.%s", block, name);
    return syn_graph_layer_norm(g, full, x);
}

/* What is added to the sum of all blocks before is smaller, the more blocks there are. */
static syn_node add_block(struct syn_graph *g, int block, int blocks, syn_node x)
{
    char name[64];
    double small = DEVIATION / sqrt(2.0 * blocks);
    snprintf(name, sizeof name, "blocks.%d.look", block);
    syn_node y = product(g, block, "qkv", norm(g, block, "norm_look", x), 3 * WIDTH, DEVIATION);
    y = syn_graph_attention(g, name, y, HEADS);
    x = syn_graph_add(g, x, product(g, block, "project", y, WIDTH, small), false);
    y = product(g, block, "think.0", norm(g, block, "norm_think", x), 4 * WIDTH, DEVIATION);
    y = product(g, block, "think.2", syn_graph_gelu(g, y), WIDTH, small);
    return syn_graph_add(g, x, y, false);
}

static syn_node layers(struct syn_graph *g, const struct model_kind *kind,
                       const struct syn_input *input)
{
    syn_node tokens = syn_graph_embedding(g, "tokens", syn_graph_tokens(g, input->classes), WIDTH);
    syn_node x = syn_graph_positions(g, "places", tokens, LENGTH);
    syn_graph_deviation(g, tokens, DEVIATION);
    syn_graph_deviation(g, x, DEVIATION);
    for (int block = 0; block < kind->size; block++)
        x = add_block(g, block, kind->size, x);
    return syn_graph_tied_product(g, "head", syn_graph_layer_norm(g, "norm", x), tokens);
}

static const struct model_kind kinds[] = {
    {"gpt", "language model: transformer of two blocks, 128 wide, of 64 words at a time",
     WORDS(10000), 0, 2, layers},
};

const struct model_family family_gpt = MODEL_FAMILY(kinds);

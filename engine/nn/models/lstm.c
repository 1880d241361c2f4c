/* Language models of two LSTM layers, in the sizes that are usual for the Penn Treebank: small
 * (200, no dropout) and large (1500, dropout 0.65 between all layers). */
#include "engine/nn/ready.h"

#define LARGE         1500
#define LARGE_DROPOUT 0.65

static syn_node layers(struct syn_graph *g, const struct model_kind *kind,
                       const struct syn_input *input)
{
    size_t hidden = (size_t)kind->size;
    double rate = hidden == LARGE ? LARGE_DROPOUT : 0;
    syn_node x = syn_graph_tokens(g, input->classes);
    x = syn_graph_dropout(g, syn_graph_embedding(g, "embedding", x, hidden), rate);
    x = syn_graph_dropout(g, syn_graph_lstm(g, "lstm0", x, hidden), rate);
    x = syn_graph_dropout(g, syn_graph_lstm(g, "lstm1", x, hidden), rate);
    return syn_graph_inner_product(g, "fc", x, input->classes);
}

static const struct model_kind kinds[] = {
    {"lstm-small", "language model of two LSTM layers of 200", WORDS(10000), 0, 200, layers},
    {"lstm", "language model of two LSTM layers of 1500, with dropout", WORDS(10000), 0, LARGE,
     layers},
};

const struct model_family family_lstm = MODEL_FAMILY(kinds);

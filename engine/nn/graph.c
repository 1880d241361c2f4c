/* Building a graph, layer by layer. The first layer that does not fit is recorded, layers built on
 * it are ignored, and building the model reports the cause; so a caller checks once. */
#include "engine/nn/graph.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <syncopate/text.h>

#include "engine/base/fail.h"

enum syn_status syn_graph_new(struct syn_graph **graph)
{
    struct syn_graph *made = calloc(1, sizeof *made);
    if (!made)
        return syn_report(SYN_MEMORY, "cannot allocate a graph");
    *graph = made;
    return SYN_OK;
}

void syn_graph_free(struct syn_graph *graph)
{
    if (!graph)
        return;
    for (size_t i = 0; i < graph->count; i++)
        free(graph->nodes[i].name);
    free(graph->nodes);
    free(graph);
}

bool graph_refuse(struct syn_graph *graph, const char *format, ...)
{
    if (graph->status != SYN_OK)
        return false;
    va_list arguments;
    va_start(arguments, format);
    syn_text_print_list(graph->cause, sizeof graph->cause, format, arguments);
    va_end(arguments);
    graph->status = SYN_INVALID;
    return false;
}

enum syn_status graph_copy(const struct syn_graph *graph, struct syn_graph **copy)
{
    struct syn_graph *made = NULL;
    SYN_TRY(syn_graph_new(&made));
    *made = *graph;
    made->capacity = graph->count;
    made->count = 0;
    made->nodes = calloc(graph->count ? graph->count : 1, sizeof *made->nodes);
    for (size_t i = 0; made->nodes && i < graph->count; i++) {
        made->nodes[i] = graph->nodes[i];
        made->nodes[i].name = strdup(graph->nodes[i].name);
        if (!made->nodes[i].name)
            break;
        made->count++;
    }
    if (made->count < graph->count) {
        syn_graph_free(made);
        return syn_report(SYN_MEMORY, "cannot allocate a graph of %zu layers", graph->count);
    }
    *copy = made;
    return SYN_OK;
}

static size_t count_kind(const struct syn_graph *graph, const struct layer_kind *kind)
{
    size_t count = 0;
    for (size_t i = 0; i < graph->count; i++)
        count += graph->nodes[i].kind == kind;
    return count;
}

enum syn_status graph_check(const struct syn_graph *graph)
{
    if (graph->status != SYN_OK)
        return syn_report(graph->status, "%s", graph->cause);
    size_t losses = count_kind(graph, &layer_cross_entropy);
    if (losses != 1 || graph->nodes[graph->count - 1].kind != &layer_cross_entropy)
        return syn_report(SYN_INVALID,
                          "a graph with %zu cross-entropies; expected exactly one, at the end",
                          losses);
    for (size_t i = 0; i + 1 < graph->count; i++) {
        bool used = false;
        for (size_t j = i + 1; j < graph->count; j++)
            for (size_t k = 0; k < graph->nodes[j].input_count; k++)
                used |= graph->nodes[j].inputs[k] == i;
        if (!used)
            return syn_report(SYN_INVALID, "nothing reads the output of layer %s",
                              graph->nodes[i].name);
    }
    return SYN_OK;
}

static bool make_room(struct syn_graph *graph)
{
    if (graph->count < graph->capacity)
        return true;
    size_t capacity = graph->capacity ? 2 * graph->capacity : 32;
    struct node *grown = realloc(graph->nodes, capacity * sizeof *grown);
    if (!grown)
        return graph_refuse(graph, "cannot allocate a graph of %zu layers", capacity);
    graph->nodes = grown;
    graph->capacity = capacity;
    return true;
}

/* Whether the inputs exist and have a form that this kind can read. */
static bool inputs_fit(struct syn_graph *graph, const struct node *node, const syn_node *from)
{
    if (node->input_count == 0 && graph->count > 0)
        return graph_refuse(graph,
                            "%s: the input must be the first layer, and there can be only one",
                            node->kind->name);
    for (size_t k = 0; k < node->input_count; k++) {
        if (from[k] < 0 || (size_t)from[k] >= graph->count)
            return graph_refuse(graph, "%s: there is no node %d", node->name, from[k]);
        bool tokens = graph->nodes[from[k]].shape.tokens;
        if (tokens && node->kind != &layer_embedding)
            return graph_refuse(graph, "%s: only an embedding reads tokens", node->name);
    }
    return true;
}

static bool name_is_new(struct syn_graph *graph, const struct node *node)
{
    for (size_t i = 0; i < graph->count; i++)
        if (strcmp(graph->nodes[i].name, node->name) == 0)
            return graph_refuse(graph, "there are two layers called %s", node->name);
    return true;
}

/* Add a layer; node has everything except name, number, inputs and (unless it is an input)
 * shape. */
static syn_node add(struct syn_graph *graph, const char *name, struct node node, syn_node one,
                    syn_node other)
{
    const syn_node from[MOST_INPUTS] = {one, other};
    char numbered[64];
    if (graph->status != SYN_OK || !make_room(graph))
        return SYN_NOTHING;
    snprintf(numbered, sizeof numbered, "%s%zu", node.kind->name, graph->count);
    node.name = strdup(name ? name : numbered);
    node.number = graph->count;
    if (!node.name) {
        graph_refuse(graph, "cannot allocate the name of a layer");
        return SYN_NOTHING;
    }
    if (!inputs_fit(graph, &node, from) || !name_is_new(graph, &node)) {
        free(node.name);
        return SYN_NOTHING;
    }
    for (size_t k = 0; k < node.input_count; k++)
        node.inputs[k] = (size_t)from[k];
    if (!node.kind->shape(graph, &node)) {
        free(node.name);
        return SYN_NOTHING;
    }
    graph->nodes[graph->count] = node;
    return (syn_node)graph->count++;
}

syn_node syn_graph_images(struct syn_graph *graph, size_t channels, size_t height, size_t width)
{
    struct node node = {.kind = &layer_images,
                        .shape = {.channels = channels, .height = height, .width = width}};
    return add(graph, NULL, node, SYN_NOTHING, SYN_NOTHING);
}

syn_node syn_graph_tokens(struct syn_graph *graph, size_t vocabulary)
{
    struct node node = {.kind = &layer_tokens, .options.vocabulary = vocabulary};
    return add(graph, NULL, node, SYN_NOTHING, SYN_NOTHING);
}

syn_node syn_graph_convolution(struct syn_graph *graph, const char *name, syn_node from,
                               struct syn_convolution convolution)
{
    struct node node = {
        .kind = &layer_convolution, .input_count = 1, .options.convolution = convolution};
    return add(graph, name, node, from, SYN_NOTHING);
}

syn_node syn_graph_inner_product(struct syn_graph *graph, const char *name, syn_node from,
                                 size_t outputs)
{
    struct node node = {
        .kind = &layer_inner_product, .input_count = 1, .options.product.outputs = outputs};
    return add(graph, name, node, from, SYN_NOTHING);
}

/* Whether a node is there and of that kind; says so if not, unless it is SYN_NOTHING. */
static bool is_kind(struct syn_graph *graph, syn_node node, const struct layer_kind *kind)
{
    if (graph->status != SYN_OK)
        return false;
    if (node < 0 || (size_t)node >= graph->count || graph->nodes[node].kind != kind)
        return graph_refuse(graph, "node %d is not an %s", node, kind->name);
    return true;
}

syn_node syn_graph_tied_product(struct syn_graph *graph, const char *name, syn_node from,
                                syn_node embedding)
{
    if (!is_kind(graph, embedding, &layer_embedding))
        return SYN_NOTHING;
    const struct node *tokens = &graph->nodes[graph->nodes[embedding].inputs[0]];
    struct node node = {.kind = &layer_inner_product,
                        .input_count = 1,
                        .options.product = {.outputs = tokens->options.vocabulary,
                                            .embedding = (size_t)embedding,
                                            .is_tied = true}};
    return add(graph, name, node, from, SYN_NOTHING);
}

void syn_graph_deviation(struct syn_graph *graph, syn_node node, double deviation)
{
    if (graph->status != SYN_OK)
        return;
    if (node < 0 || (size_t)node >= graph->count || !(deviation > 0))
        graph_refuse(graph, "node %d: initial weights of deviation %g", node, deviation);
    else
        graph->nodes[node].deviation = deviation;
}

syn_node syn_graph_layer_norm(struct syn_graph *graph, const char *name, syn_node from)
{
    struct node node = {.kind = &layer_layer_norm, .input_count = 1};
    return add(graph, name, node, from, SYN_NOTHING);
}

syn_node syn_graph_gelu(struct syn_graph *graph, syn_node from)
{
    struct node node = {.kind = &layer_gelu, .input_count = 1};
    return add(graph, NULL, node, from, SYN_NOTHING);
}

syn_node syn_graph_positions(struct syn_graph *graph, const char *name, syn_node from,
                             size_t length)
{
    struct node node = {.kind = &layer_positions, .input_count = 1, .options.length = length};
    return add(graph, name, node, from, SYN_NOTHING);
}

syn_node syn_graph_attention(struct syn_graph *graph, const char *name, syn_node from, size_t heads)
{
    struct node node = {.kind = &layer_attention, .input_count = 1, .options.heads = heads};
    return add(graph, name, node, from, SYN_NOTHING);
}

syn_node syn_graph_batch_norm(struct syn_graph *graph, const char *name, syn_node from, bool relu)
{
    struct node node = {.kind = &layer_batch_norm, .input_count = 1, .options.relu = relu};
    return add(graph, name, node, from, SYN_NOTHING);
}

syn_node syn_graph_relu(struct syn_graph *graph, syn_node from)
{
    struct node node = {.kind = &layer_relu, .input_count = 1};
    return add(graph, NULL, node, from, SYN_NOTHING);
}

syn_node syn_graph_max_pooling(struct syn_graph *graph, syn_node from, struct syn_pooling pooling)
{
    struct node node = {
        .kind = &layer_pooling, .input_count = 1, .options.pooling.window = pooling};
    return add(graph, NULL, node, from, SYN_NOTHING);
}

syn_node syn_graph_average_pooling(struct syn_graph *graph, syn_node from,
                                   struct syn_pooling pooling)
{
    struct node node = {.kind = &layer_pooling,
                        .input_count = 1,
                        .options.pooling = {.window = pooling, .average = true}};
    return add(graph, NULL, node, from, SYN_NOTHING);
}

syn_node syn_graph_global_average(struct syn_graph *graph, syn_node from)
{
    struct node node = {.kind = &layer_pooling,
                        .input_count = 1,
                        .options.pooling = {.average = true, .whole = true}};
    return add(graph, NULL, node, from, SYN_NOTHING);
}

syn_node syn_graph_subsample(struct syn_graph *graph, syn_node from, size_t outputs, size_t stride)
{
    struct node node = {
        .kind = &layer_subsample, .input_count = 1, .options.subsample = {outputs, stride}};
    return add(graph, NULL, node, from, SYN_NOTHING);
}

syn_node syn_graph_dropout(struct syn_graph *graph, syn_node from, double rate)
{
    struct node node = {.kind = &layer_dropout, .input_count = 1, .options.rate = rate};
    return add(graph, NULL, node, from, SYN_NOTHING);
}

syn_node syn_graph_add(struct syn_graph *graph, syn_node one, syn_node other, bool relu)
{
    struct node node = {.kind = &layer_add, .input_count = 2, .options.relu = relu};
    return add(graph, NULL, node, one, other);
}

syn_node syn_graph_embedding(struct syn_graph *graph, const char *name, syn_node from, size_t width)
{
    struct node node = {.kind = &layer_embedding, .input_count = 1, .options.outputs = width};
    return add(graph, name, node, from, SYN_NOTHING);
}

syn_node syn_graph_lstm(struct syn_graph *graph, const char *name, syn_node from, size_t hidden)
{
    struct node node = {.kind = &layer_lstm, .input_count = 1, .options.outputs = hidden};
    return add(graph, name, node, from, SYN_NOTHING);
}

syn_node syn_graph_cross_entropy(struct syn_graph *graph, syn_node from)
{
    struct node node = {.kind = &layer_cross_entropy, .input_count = 1};
    return add(graph, NULL, node, from, SYN_NOTHING);
}

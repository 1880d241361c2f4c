/* A graph under construction: layers in the order in which they were added, so that inputs come
 * before their users. */
#ifndef SYN_NN_GRAPH_H
#define SYN_NN_GRAPH_H

#include <stdbool.h>
#include <stddef.h>

#include <syncopate/engine/model.h>

#include "engine/nn/layer.h"

#define MOST_INPUTS 2

/* The options of a layer; each kind reads its own member. */
union layer_options {
    struct syn_convolution convolution;
    struct {
        struct syn_pooling window;
        bool average;
        bool whole; /* the window is the whole image */
    } pooling;
    struct {
        size_t outputs;
        size_t stride;
    } subsample;
    struct {
        size_t outputs;
        size_t embedding; /* number of the node whose weights it uses, if it is tied */
        bool is_tied;
    } product;
    size_t outputs; /* embedding, LSTM */
    size_t heads;   /* attention */
    size_t length;  /* positions */
    bool relu;      /* batch norm, add */
    double rate;    /* dropout */
    size_t vocabulary;
};

struct node {
    const struct layer_kind *kind;
    char *name; /* as given, or the kind with a number */
    size_t number;
    size_t inputs[MOST_INPUTS]; /* numbers of nodes */
    size_t input_count;
    struct shape shape;
    union layer_options options;
    double deviation; /* of the initial weights; 0: those of its kind */
};

struct syn_graph {
    struct node *nodes;
    size_t count;
    size_t capacity;
    enum syn_status status; /* of the first call that failed */
    char cause[512];
};

/* Record why a layer cannot be added, unless an earlier one failed; returns false. */
bool graph_refuse(struct syn_graph *graph, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

/* The shape of input number k of a node. */
static inline const struct shape *graph_from(const struct syn_graph *graph, const struct node *node,
                                             size_t k)
{
    return &graph->nodes[node->inputs[k]].shape;
}

/* A deep copy. */
enum syn_status graph_copy(const struct syn_graph *graph, struct syn_graph **copy);

/* Check that the graph is complete: one input, one loss at the end, every output used. Reports what
 * is wrong. */
enum syn_status graph_check(const struct syn_graph *graph);

#endif

/* What a kind of layer is: a row of layers.def, a file ending in its const descriptor. A layer does
 * not compute anything itself: when a model is built, it adds its kernels to a plan, and steps run
 * the plan. */
#ifndef SYN_NN_LAYER_H
#define SYN_NN_LAYER_H

#include <stdbool.h>
#include <stddef.h>

#include <syncopate/engine/model.h>

struct syn_graph;
struct node;
struct plan;

/* The shape of a layer's output for an example, or for each time step of an example. A vector is an
 * image of height and width 1. */
struct shape {
    bool sequence;
    bool tokens; /* numbers of words, not values */
    size_t channels;
    size_t height;
    size_t width;
};

static inline size_t shape_values(const struct shape *shape)
{
    return shape->channels * shape->height * shape->width;
}

static inline size_t padded_channels(size_t channels)
{
    return (channels + 7) / 8 * 8;
}

/* Arrays that a layer owns besides its output: parameters, which have a gradient; statistics, which
 * are updated otherwise; and state carried from batch to batch. */
enum space { SPACE_WEIGHTS, SPACE_STATISTICS, SPACE_CARRY, SPACE_COUNT };

enum start { START_ZERO, START_ONE, START_UNIFORM, START_NORMAL };

#define MOST_TENSORS 6

struct tensor {
    enum space space;
    const char *suffix;     /* of the name, such as "weight" */
    struct syn_shape shape; /* of carried arrays: for each example of a batch */
    enum start start;
    double bound; /* uniform in [-bound, bound), or normal with this deviation */
};

/* A shape as an initialiser. */
#define SHAPE(...)                                                                                 \
    {                                                                                              \
        sizeof((size_t[]){__VA_ARGS__}) / sizeof(size_t),                                          \
        {                                                                                          \
            __VA_ARGS__                                                                            \
        }                                                                                          \
    }

struct layer_kind {
    const char *name;
    const char *help;
    /* Compute node->shape from the inputs'; false after graph_refuse(). */
    bool (*shape)(struct syn_graph *graph, struct node *node);
    /* (optional) List its arrays, at most MOST_TENSORS, grouped by space; return how many. Without
     * it there are none. */
    size_t (*tensors)(const struct syn_graph *graph, const struct node *node,
                      struct tensor *tensors);
    /* (optional) Add what computes the output. Without it the layer is an input. */
    void (*forward)(struct plan *plan, const struct node *node);
    /* (optional) Add what computes the gradients w.r.t. its weights and, where needed, w.r.t. its
     * inputs. */
    void (*backward)(struct plan *plan, const struct node *node);
    /* Its backward pass reads its own output, which therefore must not be overwritten. */
    bool needs_output;
};

#define SYN_PART(name) extern const struct layer_kind layer_##name;
#include "engine/nn/layers/layers.def"
#undef SYN_PART

#endif

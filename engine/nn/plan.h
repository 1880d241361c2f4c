/* A plan: everything a step computes, as an ordered list of kernels, with the memory they use.
 * Layers add their kernels once; then lifetimes are known, and all buffers are laid out in one
 * arena, where buffers that are never needed at the same time share memory. Layers build it through
 * emit.h. */
#ifndef SYN_NN_PLAN_H
#define SYN_NN_PLAN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <syncopate/engine/model.h>

#include "engine/nn/graph.h"
#include "engine/nn/kernels/kernels.h"

/* Where an array is. All but the arena change from call to call. */
enum region {
    REGION_ARENA,
    REGION_WEIGHTS,
    REGION_GRADIENT,
    REGION_STATISTICS,
    REGION_CARRY,
    REGION_IMAGES, /* float [count][channels][height][width], as the caller gave them */
    REGION_TOKENS, /* int32_t [time][count] */
    REGION_LABELS, /* int32_t [count] or [time][count] */
    REGION_COUNT
};

struct place {
    enum region region;
    size_t at; /* in the arena, the number of a buffer; elsewhere, an offset in floats */
};

/* What differs from call to call. */
struct call {
    void *base[REGION_COUNT];
    const struct nn_kernels *own;
    size_t threads;
    uint64_t seed;
    uint64_t step;
    float scale;                      /* of the loss gradient */
    const struct syn_stop_hook *stop; /* may be NULL */
    struct softmax_sums sums;
};

struct kernel;
struct onednn;

/* Compute; at[i] is the address of places[i] of the kernel. */
typedef enum syn_status kernel_run(const struct kernel *kernel, void *const at[],
                                   struct call *call);

#define MOST_PLACES 12

struct kernel {
    const struct node *node;
    const char *work;
    const char *implementation;
    double gflop;
    kernel_run *run;
    const void *state;                  /* what run needs to know; owned by the plan */
    void (*release)(const void *state); /* (optional) before state is freed */
    struct place places[MOST_PLACES];
    size_t place_count;
    int64_t spent_ns;
    uint64_t runs;
};

struct buffer {
    size_t bytes;
    size_t first; /* kernel that uses it first */
    size_t last;
    size_t offset;
};

#define MOST_KEPT 4

struct value {
    struct place output;
    struct place
        kept[MOST_KEPT];  /* other arrays that the forward pass keeps for the backward pass */
    struct place blocked; /* of the images: a copy in blocks of channels, once needed */
    size_t users;
    bool has_output;
    bool has_blocked;
    bool is_rectified; /* its only user is a ReLU, which the layer has already applied */
    bool wants_gradient;
    bool has_gradient;
    size_t gradient; /* its number */
};

/* Gradients w.r.t. outputs. Both inputs of a sum have the same gradient, so several nodes may hold
 * one. */
struct held_gradient {
    struct place place;
    size_t holders; /* nodes that have not read it yet */
};

struct plan_settings {
    size_t count; /* examples */
    size_t time;
    size_t threads;
    bool training;
    size_t batch; /* the model's: rows of carried arrays */
};

struct plan {
    const struct syn_graph *graph;
    const struct nn_kernels *own;
    struct onednn *onednn;
    const size_t (*offsets)[MOST_TENSORS]; /* of each node's arrays in their spaces */
    struct plan_settings settings;
    enum syn_status status;
    struct value *values; /* one for each node */
    struct held_gradient *gradients;
    size_t gradient_count;
    struct buffer *buffers;
    size_t buffer_count;
    size_t buffer_capacity;
    struct kernel *kernels;
    size_t kernel_count;
    size_t kernel_capacity;
    size_t *final_kernel; /* for each weight tensor, the kernel after which its gradient is final */
    size_t arena_bytes;
};

/* Make the plan of a graph: forward, and backward if settings.training.
 *   offsets  lent for the life of the plan, like graph and onednn */
enum syn_status plan_make(const struct syn_graph *graph, struct onednn *onednn,
                          const size_t (*offsets)[MOST_TENSORS], const struct syn_layout *weights,
                          struct plan_settings settings, struct plan **result);

void plan_free(struct plan *plan);

/* Run kernels [begin, end).
 *   layout  for the hook, which may be NULL
 *   timed   add up the time of each kernel */
enum syn_status plan_run(struct plan *plan, struct call *call, size_t begin, size_t end,
                         const struct syn_ready_hook *hook, const struct syn_layout *layout,
                         bool timed);

#endif

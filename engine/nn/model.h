/* A built model. */
#ifndef SYN_NN_MODEL_H
#define SYN_NN_MODEL_H

#include <syncopate/engine/model.h>

#include "engine/nn/onednn.h"
#include "engine/nn/plan.h"

#define MOST_PLANS 6

struct syn_model {
    struct syn_graph *graph;
    struct syn_model_options options;
    struct syn_input input;
    struct onednn *onednn;
    struct syn_layout *layouts[SPACE_COUNT];
    struct syn_shape *shapes[SPACE_COUNT]; /* of each tensor of the layouts */
    size_t (*offsets)[MOST_TENSORS];       /* of each node's arrays in their spaces */
    float *statistics;
    float *carry[2];
    int32_t *tokens; /* of the current step, in the order of the plan's rows */
    int32_t *labels;
    struct plan
        *plans[MOST_PLANS]; /* the first is for the full batch; then the most recently used */
    void *arena;            /* one plan runs at a time, so they share it */
    size_t arena_bytes;
    bool timed;
};

/* The plan for that many examples, made if necessary, with its arena in place. */
enum syn_status model_plan(struct syn_model *model, size_t count, bool training,
                           struct plan **plan);

#endif

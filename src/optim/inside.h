/* Internals of the optimizer, shared by its files. */
#ifndef SYN_OPTIM_INSIDE_H
#define SYN_OPTIM_INSIDE_H

#include "optim/optim.h"

/* A run of weights with the same rates. */
struct span {
    size_t end; /* the next one's first weight */
    struct syn_tensor_rates rates;
};

struct syn_optimizer {
    const struct syn_optim *kind;
    struct syn_optimizer_options options;
    struct span *spans; /* [span_count], neighbours differ; the last ends at size */
    size_t span_count;
    size_t span_most; /* capacity of spans */
    uint64_t updates; /* so far */
    size_t first;     /* index of the first weight here in the layout */
    bool is_rated;    /* the layout's rates are used */
    double stronger;  /* factor of weight decay */
    size_t size;
    size_t memory_per_weight;
    float *memory;   /* [memory_per_weight][size] */
    float *gradient; /* [a block, or the longest tensor] all zero between calls */
    float *weights;  /* [a block] */
};

/* The row of that name, which must have been checked. */
const struct syn_optim *syn_optim_of(const char *name);

#endif

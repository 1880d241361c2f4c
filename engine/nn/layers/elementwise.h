/* What elementwise layers share: a kernel over all values of the output, split among the cores. */
#ifndef SYN_NN_LAYERS_ELEMENTWISE_H
#define SYN_NN_LAYERS_ELEMENTWISE_H

#include "engine/nn/emit.h"
#include "engine/nn/parallel.h"

struct elementwise {
    struct call *call;
    const float *x;
    const float *other;
    float *y;
    const void *more;
};

/* Add a kernel whose state is the number of values. */
void elementwise_add(struct plan *plan, const struct node *node, const char *work, kernel_run *run,
                     const struct place *places, size_t count);

/* Run body on ranges of values that begin and end at multiples of eight. */
enum syn_status elementwise_run(const struct kernel *kernel, struct elementwise *e,
                                parallel_body *body);

/* The gradient of max(0, x): places are dy, y, dx. */
kernel_run relu_run_gradient;

#endif

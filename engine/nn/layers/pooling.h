/* The two kinds of pooling: maxima by a kernel of our own, means by oneDNN. */
#ifndef SYN_NN_LAYERS_POOLING_H
#define SYN_NN_LAYERS_POOLING_H

#include "engine/nn/emit.h"

void max_pooling_forward(struct plan *plan, const struct node *node);
void max_pooling_backward(struct plan *plan, const struct node *node);

#endif

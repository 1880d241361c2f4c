/* Take the first of every few pixels of each row and column: whole planes of eight channels are
 * copied or left zero. */
#ifndef SYN_NN_LAYERS_SUBSAMPLE_H
#define SYN_NN_LAYERS_SUBSAMPLE_H

#include "engine/nn/emit.h"

struct subsample {
    size_t images;
    size_t blocks;     /* of eight channels of the input */
    size_t out_blocks; /* of the output */
    size_t before;     /* blocks of zeros before the input's */
    size_t height, width;
    size_t out_height, out_width;
    size_t stride;
    bool accumulate; /* the gradient is added to existing values */
};

/* Add the kernel that takes those pixels, and the one that scatters their gradient back. */
void subsample_forward(struct plan *plan, const struct node *node, const struct subsample *s,
                       struct place x, struct place y);
void subsample_backward(struct plan *plan, const struct node *node, const struct subsample *s,
                        struct place dy, struct place dx);

#endif

/* Building blocks of residual networks: a convolution with batch norm, and the basic block of two
 * 3x3 convolutions with a shortcut. */
#ifndef SYN_NN_MODELS_RESIDUAL_H
#define SYN_NN_MODELS_RESIDUAL_H

#include <syncopate/engine/model.h>

/* The kind of shortcut where the shape changes; the options are those of the paper. */
enum residual_shortcut {
    SHORTCUT_PADS,    /* option A: every second pixel, and channels of zeros; no weights */
    SHORTCUT_PROJECTS /* option B: a 1x1 convolution with batch norm, as in PyTorch */
};

/* Add a convolution without bias, and batch norm.
 *   prefix  of the names, such as "layer1.0." or ""
 *   relu    whether ReLU follows */
syn_node residual_normalised(struct syn_graph *graph, const char *prefix, const char *convolution,
                             const char *norm, syn_node x, struct syn_convolution options,
                             bool relu);

/* Add a block.
 *   prefix   of the names, such as "layer1.0."
 *   changes  whether the shape of its output differs from that of x */
syn_node residual_block(struct syn_graph *graph, const char *prefix, syn_node x, size_t outputs,
                        size_t stride, bool changes, enum residual_shortcut shortcut);

/* Add a stage of blocks named layerN.0, layerN.1, ..., of which the first may change the shape. */
syn_node residual_stage(struct syn_graph *graph, int number, int blocks, syn_node x, size_t outputs,
                        size_t stride, enum residual_shortcut shortcut);

#endif

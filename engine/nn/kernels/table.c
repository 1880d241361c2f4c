/* The table of one instruction set's kernels. */
#include "engine/nn/kernels/kernels.h"
#include "engine/nn/kernels/wide.h"

#define SYN_TEXT_AGAIN(text) #text
#define SYN_TEXT(text)       SYN_TEXT_AGAIN(text)

extern const struct winograd_kernels SYN_KERNEL(syn_winograd);
extern const struct winograd_filter_kernels SYN_KERNEL(syn_winograd_filter);
extern const struct pointwise_kernels SYN_KERNEL(syn_pointwise);
extern const struct few_inputs_kernels SYN_KERNEL(syn_few_inputs);
extern const struct max_pooling_kernels SYN_KERNEL(syn_max_pooling);
extern const struct elementwise_kernels SYN_KERNEL(syn_elementwise);
extern const struct softmax_kernels SYN_KERNEL(syn_softmax);
extern const struct lstm_kernels SYN_KERNEL(syn_lstm_cell);
extern const struct gelu_kernels SYN_KERNEL(syn_gelu);
extern const struct layer_norm_kernels SYN_KERNEL(syn_layer_norm);
extern const struct attention_kernels SYN_KERNEL(syn_attention);

extern const struct nn_kernels SYN_KERNEL(syn_nn_kernels);
const struct nn_kernels SYN_KERNEL(syn_nn_kernels) = {
    .name = "own:" SYN_TEXT(SYN_KERNEL_SET),
    .winograd_name = "own_winograd:" SYN_TEXT(SYN_KERNEL_SET),
    .winograd = &SYN_KERNEL(syn_winograd),
    .filter = &SYN_KERNEL(syn_winograd_filter),
    .pointwise_name = "own_1x1:" SYN_TEXT(SYN_KERNEL_SET),
    .prefers_pointwise = WIDE > LANES,
    .pointwise = &SYN_KERNEL(syn_pointwise),
    .few_inputs = &SYN_KERNEL(syn_few_inputs),
    .max_pooling = &SYN_KERNEL(syn_max_pooling),
    .elementwise = &SYN_KERNEL(syn_elementwise),
    .softmax = &SYN_KERNEL(syn_softmax),
    .lstm = &SYN_KERNEL(syn_lstm_cell),
    .gelu = &SYN_KERNEL(syn_gelu),
    .layer_norm = &SYN_KERNEL(syn_layer_norm),
    .attention = &SYN_KERNEL(syn_attention),
};

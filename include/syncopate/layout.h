/* The flat parameter space: named tensors, one after the other, in one array of floats.
 * Weights, gradients and residuals all have this shape. */
#ifndef SYNCOPATE_LAYOUT_H
#define SYNCOPATE_LAYOUT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <syncopate/status.h>

#ifdef __cplusplus
extern "C" {
#endif

struct syn_layout;

/* One tensor's place: entries [offset, offset + count) of the flat array. */
struct syn_tensor {
    const char *name; /* owned by the layout */
    size_t offset;
    size_t count;
};

/* Make an empty layout. Free it with syn_layout_free(). */
enum syn_status syn_layout_new(struct syn_layout **layout);

/* Append a tensor of count floats.
 *   name   copied; not empty, unique in the layout, at most 255 bytes
 *   count  may be zero
 * On failure the layout is unchanged. At most 2^32 - 1 floats in all, because indices are sent as
 * 32 bits. */
enum syn_status syn_layout_add(struct syn_layout *layout, const char *name, size_t count);

/* How an optimizer treats a tensor: factors applied to its learning rate and weight decay, both 1
 * unless set. A weight decay of 0 is usual for biases and for normalisation layers. */
struct syn_tensor_rates {
    double lr;
    double weight_decay;
};

/* Set the rates of tensor number i; i < syn_layout_count(). SYN_INVALID, and nothing changed, if
 * one is negative or not finite. The rates are among what workers compare. */
enum syn_status syn_layout_rate(struct syn_layout *layout, size_t i, struct syn_tensor_rates rates);
struct syn_tensor_rates syn_layout_rates(const struct syn_layout *layout, size_t i);

/* How a tensor takes part in training; unless set, as the options say. At most one of these. */
struct syn_tensor_policy {
    bool is_dense; /* lists (select topk) always contain all of its entries */
    bool
        is_frozen; /* its gradient is ignored and its weights never change; nothing of it is sent */
    double density; /* lists contain this share of its entries, its largest, in every step; 1 is the
                     * same as is_dense; 0: not set */
};

/* Set the policy of tensor number i; i < syn_layout_count(). SYN_INVALID, and nothing changed, if
 * the density is not between 0 and 1, or if more than one of them is set. Policies are among what
 * workers compare. */
enum syn_status syn_layout_set_policy(struct syn_layout *layout, size_t i,
                                      struct syn_tensor_policy policy);
struct syn_tensor_policy syn_layout_policy(const struct syn_layout *layout, size_t i);

/* Make a copy that outlives the original. */
enum syn_status syn_layout_copy(const struct syn_layout *from, struct syn_layout **copy);

/* Number of floats in the whole space. */
size_t syn_layout_size(const struct syn_layout *layout);

/* Number of tensors. */
size_t syn_layout_count(const struct syn_layout *layout);

/* Tensor number i, in the order in which they were added; i < syn_layout_count(). */
struct syn_tensor syn_layout_tensor(const struct syn_layout *layout, size_t i);

/* Number of the tensor that contains the entry at index; index < syn_layout_size(). */
size_t syn_layout_find(const struct syn_layout *layout, size_t index);

/* A hash of all names, counts, rates that are not 1 and policies that are set: equal for equal
 * layouts, on every machine. */
uint64_t syn_layout_hash(const struct syn_layout *layout);

void syn_layout_free(struct syn_layout *layout);

#ifdef __cplusplus
}
#endif
#endif

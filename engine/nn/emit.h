/* How layers build a plan. Building is sticky: after a failure, further calls do nothing, and
 * plan_make() returns it. */
#ifndef SYN_NN_EMIT_H
#define SYN_NN_EMIT_H

#include "engine/nn/plan.h"

/* Record a failure that has been reported. */
void plan_fail(struct plan *plan, enum syn_status status);

/* Images of a node's output: examples, times time steps for sequences. */
size_t plan_rows(const struct plan *plan, const struct node *node);

/* Floats of a node's output, padded to a multiple of eight channels. */
size_t plan_size(const struct plan *plan, const struct node *node);

/* A new buffer of the arena. */
struct place plan_buffer(struct plan *plan, size_t floats);

/* Array number i of a node (as its kind lists them), and the gradient w.r.t. a weight. */
struct place plan_tensor(const struct plan *plan, const struct node *node, size_t i);
struct place plan_tensor_gradient(const struct plan *plan, const struct node *node, size_t i);

/* Add a kernel; its state of that many bytes (may be 0) is copied, and released with the plan even
 * if adding fails. */
void plan_add(struct plan *plan, const struct kernel *kernel, const void *state, size_t bytes);

/* The output of input number k, in blocks of channels. */
struct place plan_input(struct plan *plan, const struct node *node, size_t k);

/* Whether this node may write its output over input number k. */
bool plan_may_overwrite(const struct plan *plan, const struct node *node, size_t k);

/* Set where a node's output is; or create a new buffer for it. */
void plan_set_output(struct plan *plan, const struct node *node, struct place place);
struct place plan_new_output(struct plan *plan, const struct node *node);

/* Where a node's output is. */
struct place plan_output(const struct plan *plan, const struct node *node);

/* Whether the node's only user is a ReLU. If so, the node must apply it, and the ReLU will add no
 * kernel. */
bool plan_take_relu(struct plan *plan, const struct node *node);

/* The gradient w.r.t. a node's output. */
struct place plan_gradient(const struct plan *plan, const struct node *node);

/* Whether no other node will read that gradient. */
bool plan_owns_gradient(const struct plan *plan, const struct node *node);

/* Set the place where that gradient is from now on. */
void plan_move_gradient(struct plan *plan, const struct node *node, struct place place);

/* Whether the gradient w.r.t. input number k is wanted. */
bool plan_wants_gradient(const struct plan *plan, const struct node *node, size_t k);

/* Delivering the gradient w.r.t. input number k: begin, add the kernel that writes it to `to`,
 * end. */
enum delivery_flags {
    DELIVER_ACCUMULATES = 1, /* the kernel can add to existing values: see accumulate */
    DELIVER_IN_PLACE = 2     /* the kernel can overwrite the gradient w.r.t. the node's output */
};

struct delivery {
    struct place to;
    bool accumulate;
    bool add_later; /* `to` is scratch memory, added to the gradient at the end */
    size_t from;    /* number of the input node */
};

struct delivery plan_deliver_begin(struct plan *plan, const struct node *node, size_t k, int flags);
void plan_deliver_end(struct plan *plan, const struct node *node, const struct delivery *delivery);

/* Set where the gradient w.r.t. input number k is. Its only user, a loss, has kernels that write it
 * there. */
void plan_start_gradient(struct plan *plan, const struct node *node, size_t k, struct place place);

/* The gradient w.r.t. input number k is the one w.r.t. the node's output. */
void plan_pass_gradient(struct plan *plan, const struct node *node, size_t k);

#endif

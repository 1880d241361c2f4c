/* The global optimizer: turns the merged gradient of a step into new weights.
 *
 *     struct syn_optimizer_options options;
 *     syn_settings_defaults(&syn_optimizer_settings, &options);
 *     syn_optimizer_open(&options, size, &optimizer);
 *     syn_optimizer_apply(optimizer, 0.1, 1.0 / workers, sum, weights);      once per step
 *     syn_optimizer_free(optimizer);
 *
 * sgd, with g the mean gradient and m initially zero:
 *
 *     g' = g + weight_decay * W
 *     m  = momentum * m + g'
 *     W -= lr * m                      or, with nesterov, W -= lr * (g' + momentum * m)
 *
 * adamw, as in PyTorch, with m and v initially zero and t the number of the update, from 1:
 *
 *     W -= lr * weight_decay * W
 *     m  = beta1 * m + (1 - beta1) * g
 *     v  = beta2 * v + (1 - beta2) * g*g
 *     W -= lr * (m / (1 - beta1^t)) / (sqrt(v / (1 - beta2^t)) + eps)
 *
 * lamb, with m and v of adamw and the norms of a whole tensor (a factor of 1 if one of them is 0):
 *
 *     u  = (m / (1 - beta1^t)) / (sqrt(v / (1 - beta2^t)) + eps) + weight_decay * W
 *     W -= lr * |W|/|u| * u
 *
 * An optimizer may be used by one thread at a time. The same calls give bit-identical results on
 * every machine. */
#ifndef SYNCOPATE_OPTIMIZER_H
#define SYNCOPATE_OPTIMIZER_H

#include <stddef.h>
#include <stdint.h>

#include <syncopate/layout.h>
#include <syncopate/settings.h>
#include <syncopate/status.h>

#ifdef __cplusplus
extern "C" {
#endif

struct syn_optimizer;

struct syn_optimizer_options {
#define SYN_SETTING SYN_SETTING_FIELD
#include <syncopate/optimizer_options.def>
#undef SYN_SETTING
};

extern const struct syn_settings_table syn_optimizer_settings;

/* Name of optimizer number i, or NULL past the last. */
const char *syn_optimizer_name(size_t i);

/* One line about optimizer number i, or NULL past the last. */
const char *syn_optimizer_help(size_t i);

/* Make an optimizer for `size` weights, one tensor, with its state zeroed.
 *   options  copied; out of range or contradictory: SYN_INVALID */
enum syn_status syn_optimizer_open(const struct syn_optimizer_options *options, size_t size,
                                   struct syn_optimizer **optimizer);

/* The same for the weights of a layout, each tensor with its own factors of learning rate and
 * weight decay (syn_layout_rate()).
 *   layout  not needed afterwards */
enum syn_status syn_optimizer_open_layout(const struct syn_optimizer_options *options,
                                          const struct syn_layout *layout,
                                          struct syn_optimizer **optimizer);

/* Use other settings, and the rates that the layout has now, for further updates. The optimizer
 * keeps its state.
 *   layout  of the same tensors as before
 * SYN_INVALID, and nothing changed, if they do not fit each other or the state: momentum cannot
 * change from or to 0. */
enum syn_status syn_optimizer_tune(struct syn_optimizer *optimizer,
                                   const struct syn_optimizer_options *options,
                                   const struct syn_layout *layout);

/* Update the weights with a dense gradient.
 *   lr        this step's learning rate, finite and not negative
 *   scale     factor applied to each entry of gradient, such as 1/P for a sum over P workers;
 *             finite
 *   gradient  [size], finite (not checked here)
 *   weights   [size], updated in place; unchanged on failure */
enum syn_status syn_optimizer_apply(struct syn_optimizer *optimizer, double lr, double scale,
                                    const float *gradient, float *weights);

/* The same with a gradient that is zero except for count entries; the result is bit-identical to
 * the dense call's. Without momentum and weight decay only the listed weights are touched;
 * otherwise it is a dense pass.
 *   indices  [count], strictly ascending, below size; otherwise SYN_INVALID and nothing changed
 *   values   [count] */
enum syn_status syn_optimizer_apply_sparse(struct syn_optimizer *optimizer, double lr, double scale,
                                           const uint32_t *indices, const float *values,
                                           size_t count, float *weights);

/* The sum of squares of an array, such as a gradient, in double precision; norms and clipping are
 * computed from it. It is finite if and only if every entry is. */
double syn_norm_square(const float *x, size_t count);

/* Number of floats of state: momentum and the like and, for optimizers that count steps, the step
 * count (at most 2^24) at the end. 0 for plain gradient descent. */
size_t syn_optimizer_state_size(const struct syn_optimizer *optimizer);

/* Copy the state out.
 *   state  [syn_optimizer_state_size()] */
void syn_optimizer_save(const struct syn_optimizer *optimizer, float *state);

/* Restore a state saved from an optimizer with the same options and size. A different count:
 * SYN_INVALID; NaN or infinity in it: SYN_NONFINITE. On failure the state is unchanged. */
enum syn_status syn_optimizer_load(struct syn_optimizer *optimizer, const float *state,
                                   size_t count);

void syn_optimizer_free(struct syn_optimizer *optimizer);

#ifdef __cplusplus
}
#endif
#endif

/* The reducer: a gradient goes in, the sum over all workers comes out, and what was not sent is
 * kept.
 *
 *     syn_reducer_defaults(&options);
 *     syn_recipe_apply("gtopk", &options);
 *     syn_reducer_open(group, layout, &options, &reducer);
 *     for each step:
 *         syn_reducer_begin(reducer, gradient, NULL, &ticket);     ... compute something else ...
 *         syn_reducer_wait(reducer, ticket, &merged);              ... apply merged / P ...
 *
 * A step is a transaction: if it fails (a gradient with NaN on any worker, a silent peer), it fails
 * on all workers, and every residual is what it was before the step. */
#ifndef SYNCOPATE_REDUCER_H
#define SYNCOPATE_REDUCER_H

#include <stddef.h>
#include <stdint.h>

#include <syncopate/group.h>
#include <syncopate/layout.h>
#include <syncopate/settings.h>
#include <syncopate/status.h>

#ifdef __cplusplus
extern "C" {
#endif

struct syn_reducer;

struct syn_reducer_options {
#define SYN_SETTING SYN_SETTING_FIELD
#include <syncopate/reducer_options.def>
#undef SYN_SETTING
};

/* The settings table of syn_reducer_options, for parsing, help and JSON. */
extern const struct syn_settings_table syn_reducer_settings;

/* Set defaults: a plain synchronous exchange of whole gradients. */
void syn_reducer_defaults(struct syn_reducer_options *options);

/* Check that these options are compatible; if not, SYN_INVALID with the reason. */
enum syn_status syn_reducer_check(const struct syn_reducer_options *options);

/* Open a reducer: allocate all the memory that its steps need and start the communication thread.
 *   group    lent until syn_reducer_close(); until then only this reducer may use it
 *   layout   copied as far as needed; none of its tensors may be frozen
 *   options  copied
 * Collective: workers compare layouts and options; SYN_MISMATCH names the workers that differ and
 * in what. Blocks. */
enum syn_status syn_reducer_open(struct syn_group *group, const struct syn_layout *layout,
                                 const struct syn_reducer_options *options,
                                 struct syn_reducer **reducer);

/* What may change from step to step; must be the same on all workers. */
struct syn_step {
    double density; /* for topk, threshold-mode target and exchange adaptive; at most the options'
                     * density_max; adaptive also allows 1 */
    float scale;    /* multiplies the gradient; strom sends lr * gradient, in units of weights */
    const char *values; /* adaptive: the value form at density 1; NULL: that of the options */
};

/* The default step: the options' density, scale 1. */
struct syn_step syn_reducer_step(const struct syn_reducer *reducer);

/* A step under way. Plain data. */
struct syn_ticket {
    uint64_t number;
};

/* Begin to merge this step's gradient with every other worker's, and return; syn_reducer_wait()
 * delivers the result.
 *   gradient  [layout size], read until syn_reducer_wait() returns, or syn_reducer_close() if the
 *             step is not waited for; the caller must not touch it before then
 *   step      NULL: syn_reducer_step()
 *   ticket    set on success only
 * Collective: all workers make these calls in the same order. One thread at a time. Does not wait
 * for peers. SYN_BUSY if options.depth steps are under way. A gradient with NaN or infinity makes
 * syn_reducer_wait() fail on all workers, not this call. */
enum syn_status syn_reducer_begin(struct syn_reducer *reducer, const float *gradient,
                                  const struct syn_step *step, struct syn_ticket *ticket);

/* A contiguous piece of a gradient in memory. */
struct syn_piece {
    const float *floats; /* [count] */
    size_t count;
};

/* As syn_reducer_begin(), for a gradient that consists of several arrays.
 *   pieces  [count], which together, in order, make up the layout; read until this call returns,
 *           and so are their floats if the reducer has a residual
 * SYN_INVALID for more than one piece if it has no residual, or if their total size is not the
 * layout's. */
enum syn_status syn_reducer_begin_pieces(struct syn_reducer *reducer,
                                         const struct syn_piece *pieces, size_t count,
                                         const struct syn_step *step, struct syn_ticket *ticket);

/* As syn_reducer_begin(), but each tensor is read only after syn_reducer_ready() was called for it:
 * complete buckets travel while the rest of the gradient is still being computed. Buckets are sent
 * in a fixed order, last tensors first, as a backward pass delivers them. Only one step may be
 * incomplete at a time: SYN_INVALID until the last tensor of the previous one is ready. */
enum syn_status syn_reducer_start(struct syn_reducer *reducer, const float *gradient,
                                  const struct syn_step *step, struct syn_ticket *ticket);

/* Mark a tensor, by its number, of the step that was started last as final. Call it once for each
 * tensor, in any order. */
enum syn_status syn_reducer_ready(struct syn_reducer *reducer, size_t tensor);

/* What a step cost this worker. */
struct syn_cost {
    uint64_t bytes_out; /* payload sent */
    uint64_t bytes_in;
    uint64_t selected;   /* entries this worker sent */
    uint64_t taken_back; /* entries dropped by merges and put back into this worker's residual */
    double select_ms;    /* residual and selection, on the caller's thread */
    double encode_ms;    /* writing what was selected as bytes, on the caller's thread */
    double exchange_ms;  /* on the communication thread */
    double wait_ms;      /* spent in syn_reducer_wait() */
    double threshold;    /* tau, or the smallest magnitude sent; 0 when everything is sent */
    uint64_t answers;    /* pushes that parameter servers answered with weights */
    double staleness;    /* asgd: number of updates applied to the weights between the worker's pull
                          * and the use of its gradient; mean over those answers */
    uint64_t staleness_most; /* the maximum over those answers */
    double forgotten; /* the sum of what the residual forgot (setting forget): all that was handed
                       * over = applied + in residuals + under way + forgotten */
    double forgotten_mass; /* the sum of its magnitudes */
};

/* The sum over all workers, either dense, or sparse with sorted indices. Owned by the reducer;
 * valid until options.depth further steps have begun. */
struct syn_merged {
    const float *dense;    /* [layout size], or NULL if sparse */
    const uint32_t *index; /* [count], strictly ascending, or NULL if dense */
    const float *value;    /* [count] */
    size_t count;
    struct syn_cost cost;
};

/* Wait for the oldest step under way and deliver its sum.
 *   ticket  of that step
 * On SYN_NONFINITE (the cause names the tensor) all steps under way are dropped on all workers,
 * residuals are what they were before the oldest of them, and the reducer remains usable. Any other
 * failure is final for the group. Blocks, at most for the group's time-out. */
enum syn_status syn_reducer_wait(struct syn_reducer *reducer, struct syn_ticket ticket,
                                 struct syn_merged *merged);

/* Undo the last step: residual, momentum and thresholds are what they were before it, as if its
 * gradient had never been handed over. No worker may apply what it delivered, so all workers must
 * drop the same steps. Costs nothing and sends nothing. SYN_INVALID if a step is under way, or if
 * none has been delivered since the last drop, load or failed step. Training thread only. */
enum syn_status syn_reducer_drop(struct syn_reducer *reducer);

/* Send `count` bytes to every worker, and get everybody's: for small things that workers must agree
 * on between steps. Collective; a worker that has closed or died instead is named. They travel
 * after a step that is under way. Training thread only. Blocks.
 *   mine  [count]
 *   all   [workers][count], in the order of the ranks */
enum syn_status syn_reducer_gather(struct syn_reducer *reducer, const void *mine, size_t count,
                                   void *all);

/* Write merged into dense, with zeros where it has no entry.
 *   dense  [size]
 *   size   that of the layout */
void syn_merged_to_dense(const struct syn_merged *merged, float *dense, size_t size);

/* What this worker has not sent yet: [layout size], or NULL if its options keep no residual. Valid
 * until the next step begins. No step may be under way. */
const float *syn_reducer_residual(const struct syn_reducer *reducer);

/* Bytes that syn_reducer_save() writes. */
size_t syn_reducer_state_bytes(const struct syn_reducer *reducer);

/* Write this worker's state (residual, velocity, tau) in the format described in docs/formats.md.
 *   bytes  [syn_reducer_state_bytes()]
 * No step may be under way. */
enum syn_status syn_reducer_save(const struct syn_reducer *reducer, void *bytes);

/* Restore a state that syn_reducer_save() wrote for the same layout. SYN_FORMAT if it is damaged or
 * not such a state; the reducer is then unchanged. No step may be under way. */
enum syn_status syn_reducer_load(struct syn_reducer *reducer, const void *bytes, size_t count);

/* Restore from the states of all workers of a run with a different number of workers. Those whose
 * rank modulo the new number is this worker's rank are added up and scaled by new over old number,
 * so that the sum over all workers divided by their number is preserved. Fails as
 * syn_reducer_load() does.
 *   states  [count], each of counts[i] bytes, in the order of the ranks */
enum syn_status syn_reducer_load_regrouped(struct syn_reducer *reducer, const void *const *states,
                                           const size_t *counts, size_t count);

/* Close the reducer. Steps under way are given up; if there are any, it may block for the group's
 * time-out. NULL is harmless. */
void syn_reducer_close(struct syn_reducer *reducer);

#ifdef __cplusplus
}
#endif
#endif

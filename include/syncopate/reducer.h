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
 * on all workers and every residual is as it was before. */
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

/* The rows behind syn_reducer_options, for parsing, help and JSON. */
extern const struct syn_settings_table syn_reducer_settings;

/* Plain synchronous exchange of everything. */
void syn_reducer_defaults(struct syn_reducer_options *options);

/* Whether these options go together; if not, SYN_INVALID with the reason. */
enum syn_status syn_reducer_check(const struct syn_reducer_options *options);

/* Open a reducer: takes all the memory that its steps need and starts the communication thread.
 *   group    lent until syn_reducer_close(); this reducer is its only user meanwhile
 *   layout   copied as far as needed
 *   options  copied
 * Collective: workers compare layouts and options, and SYN_MISMATCH names who differs in what.
 * Blocks. */
enum syn_status syn_reducer_open(struct syn_group *group, const struct syn_layout *layout,
                                 const struct syn_reducer_options *options,
                                 struct syn_reducer **reducer);

/* What may change from step to step. The same on all workers. */
struct syn_step {
    double density; /* for topk, threshold-mode target and exchange adaptive; at most the options'
                     * density_max; adaptive: or 1 */
    float scale;    /* multiplies the gradient; strom sends lr * gradient, in units of weights */
    const char *values; /* adaptive: in what form everything travels at density 1; NULL: as the
                         * options say */
};

/* The step that the options describe: their density, scale 1. */
struct syn_step syn_reducer_step(const struct syn_reducer *reducer);

/* A step under way. Plain data. */
struct syn_ticket {
    uint64_t number;
};

/* Begin to merge this step's gradient with every other worker's, and return; syn_reducer_wait()
 * delivers.
 *   gradient  [layout size], read until wait returns, or syn_reducer_close() if nobody waits; the
 *             caller must not touch it before
 *   step      NULL: as the options say
 *   ticket    set on success only
 * Collective: every worker calls it in the same order. One thread at a time. Does not wait for
 * peers. SYN_BUSY if options.depth steps are under way. A gradient with NaN or infinity makes wait
 * fail, on all workers, not begin. */
enum syn_status syn_reducer_begin(struct syn_reducer *reducer, const float *gradient,
                                  const struct syn_step *step, struct syn_ticket *ticket);

/* A part of a gradient, as it lies in memory. */
struct syn_piece {
    const float *floats; /* [count] */
    size_t count;
};

/* As syn_reducer_begin(), of a gradient that lies in several places.
 *   pieces  [count], which are the layout one after the other; read until begin returns, and so
 *           are the floats if the reducer has a residual
 * SYN_INVALID for more than one piece if it has none, or if they are not as large as the layout. */
enum syn_status syn_reducer_begin_pieces(struct syn_reducer *reducer,
                                         const struct syn_piece *pieces, size_t count,
                                         const struct syn_step *step, struct syn_ticket *ticket);

/* As syn_reducer_begin(), but nothing is read before syn_reducer_ready() says so, tensor by tensor:
 * what is ready travels while the rest is still being computed. Buckets leave in one fixed order,
 * last tensors first, as a backward pass delivers them. Only one step may be filling at a time:
 * SYN_INVALID before its last tensor is ready. */
enum syn_status syn_reducer_start(struct syn_reducer *reducer, const float *gradient,
                                  const struct syn_step *step, struct syn_ticket *ticket);

/* Tensor number i of the step that was started last is final. Each tensor once, in any order. */
enum syn_status syn_reducer_ready(struct syn_reducer *reducer, size_t tensor);

/* What a step cost this worker. */
struct syn_cost {
    uint64_t bytes_out; /* payload sent */
    uint64_t bytes_in;
    uint64_t selected; /* entries this worker sent */
    uint64_t
        taken_back; /* entries that merges dropped and that came back into this worker's residual */
    double select_ms;   /* residual and selection, on the caller's thread */
    double encode_ms;   /* writing what was selected as bytes, on the caller's thread */
    double exchange_ms; /* on the communication thread */
    double wait_ms;     /* spent inside syn_reducer_wait() for it */
    double threshold;   /* tau, or the smallest magnitude sent; 0 when everything is sent */
    uint64_t answers;   /* pushes that parameter servers answered with weights */
    double staleness;   /* asgd: updates that the weights had seen between the worker's pull and the
                         * use of its gradient; the mean over those answers */
    uint64_t staleness_most; /* and the most */
    double forgotten; /* the sum of what the residual forgot (setting forget): all that was handed
                       * over = applied + in residuals + under way + forgotten */
    double forgotten_mass; /* and of its magnitudes */
};

/* The sum over all workers. Either dense, or sparse with sorted indices. Owned by the reducer,
 * valid until as many further steps have begun as options.depth. */
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
 * residuals are as before the oldest of them, and the reducer can go on. Any other failure is final
 * for the group. Blocks, at most for the group's time-out. */
enum syn_status syn_reducer_wait(struct syn_reducer *reducer, struct syn_ticket ticket,
                                 struct syn_merged *merged);

/* Take the last step back: residual, momentum and thresholds are what they were before it, as if
 * its gradient had never been handed over. What it delivered must be applied by nobody, so all
 * workers drop the same steps. Costs nothing, sends nothing. SYN_INVALID if a step is under way, or
 * none has been delivered since the last drop, load or failed step. Training thread only. */
enum syn_status syn_reducer_drop(struct syn_reducer *reducer);

/* Write merged into dense, zeros where it has no entry.
 *   dense  [size], size the layout's */
void syn_merged_to_dense(const struct syn_merged *merged, float *dense, size_t size);

/* What this worker has not sent yet: [layout size], or NULL if its options keep nothing. Valid
 * until the next step begins. No step may be under way. */
const float *syn_reducer_residual(const struct syn_reducer *reducer);

/* Bytes that syn_reducer_save() writes. */
size_t syn_reducer_state_bytes(const struct syn_reducer *reducer);

/* Write this worker's state (residual, velocity, tau), in the form of docs/formats.md.
 *   bytes  [syn_reducer_state_bytes()]
 * No step may be under way. */
enum syn_status syn_reducer_save(const struct syn_reducer *reducer, void *bytes);

/* Take on a state that syn_reducer_save() wrote for the same layout. SYN_FORMAT if it is damaged or
 * foreign; the reducer is unchanged then. No step may be under way. */
enum syn_status syn_reducer_load(struct syn_reducer *reducer, const void *bytes, size_t count);

/* Take on the states of all workers of a run with another number of workers: those numbered like
 * this worker, modulo the new number, are added up and scaled by new over old number, so that the
 * sum over all workers divided by their number stays. Failures as above.
 *   states  [count] each of counts[i] bytes, in the order of the ranks */
enum syn_status syn_reducer_load_regrouped(struct syn_reducer *reducer, const void *const *states,
                                           const size_t *counts, size_t count);

/* End. Steps under way are given up; if there are any, it may block for the group's time-out. NULL
 * is harmless. */
void syn_reducer_close(struct syn_reducer *reducer);

#ifdef __cplusplus
}
#endif
#endif

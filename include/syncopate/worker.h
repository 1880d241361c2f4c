/* The worker: hands over the gradient computed at its weights, and gets back the weights to compute
 * the next gradient at. Residual, selection, coding, exchange, both optimizers and the delay are
 * all inside one call, syn_worker_step().
 *
 *     syn_worker_defaults(&options);
 *     syn_recipe_apply_worker("ssd-sgd", &options);
 *     syn_worker_open(group, layout, &options, weights, &worker);
 *     for each step:
 *         ... gradient at weights ...
 *         syn_worker_step(worker, gradient, &rates, weights);
 *     syn_worker_settle(worker, weights);                            the trained model */
#ifndef SYNCOPATE_WORKER_H
#define SYNCOPATE_WORKER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <syncopate/archive.h>
#include <syncopate/group.h>
#include <syncopate/layout.h>
#include <syncopate/optimizer.h>
#include <syncopate/reducer.h>
#include <syncopate/settings.h>
#include <syncopate/status.h>

#ifdef __cplusplus
extern "C" {
#endif

struct syn_worker;

/* The first fields are the settings of worker_options.def, in the table syn_worker_settings. */
struct syn_worker_options {
#define SYN_SETTING SYN_SETTING_FIELD
#include <syncopate/worker_options.def>
#undef SYN_SETTING
    struct syn_reducer_options
        reducer; /* syn_reducer_settings; its momentum, residual and depth are derived from the
                  * worker's and optimizer's options */
    struct syn_optimizer_options optimizer; /* syn_optimizer_settings; the global one */
};

extern const struct syn_settings_table syn_worker_settings;

/* Set defaults: synchronous SGD. */
void syn_worker_defaults(struct syn_worker_options *options);

/* Check that these options are compatible; if not, SYN_INVALID with the reason. */
enum syn_status syn_worker_check(const struct syn_worker_options *options);

/* Whether they are, without logging the reason if not. */
bool syn_worker_is_possible(const struct syn_worker_options *options);

/* Check them for a group that will have `servers` parameter servers. */
enum syn_status syn_worker_check_servers(const struct syn_worker_options *options, size_t servers);

/* Open a worker. Frozen tensors (struct syn_tensor_policy) stay as they are in all arrays of
 * weights; their gradients are not read.
 *   group    lent until syn_worker_close()
 *   weights  [layout size] initial weights, the same on all workers
 * Collective, parameter servers included: SYN_MISMATCH names the members that differ and in what;
 * initial weights are compared too. Blocks. In a group with servers, the options' store must be
 * `servers` or auto. */
enum syn_status syn_worker_open(struct syn_group *group, const struct syn_layout *layout,
                                const struct syn_worker_options *options, const float *weights,
                                struct syn_worker **worker);

/* What may change from step to step; must be the same on all workers. */
struct syn_rates {
    double lr;      /* above 0 */
    double density; /* 0: that of the options, or, if that is auto, decided from measured times */
    const char *values; /* exchange adaptive: value form at density 1; NULL: that of the options, or
                         * decided */
};

/* Hand over a gradient and get the weights to compute the next one at.
 *   gradient  [layout size] the mean over this worker's own mini-batch; may be overwritten
 *             afterwards
 *   weights   [layout size] overwritten; unchanged on failure, except for SYN_NONFINITE with a
 *             delay
 * Collective, except with schedule async, under which workers do not wait for one another and no
 * two runs are the same. Blocks as the schedule requires, at most for the group's time-out.
 *
 * NaN or infinity in any worker's gradient is SYN_NONFINITE on all workers, in the same call, and
 * training may continue with the next step. Without a delay, the step did not happen: weights,
 * residuals and the optimizer's state are as before it. With a delay, the failure may be detected
 * up to `window` steps late, possibly by syn_worker_settle() or syn_worker_save(). Then the steps
 * handed over from the bad one on did not happen, nor did the one that fails; the workers' own
 * weights and snapshots are reset to the global weights, which are written to weights. The cause
 * names the tensor; in store shards, only on the worker whose gradient it is.
 *
 * The failure is final, SYN_NONFINITE or SYN_PEER with the same cause, in a group with servers, and
 * in store shards if finite gradients add up to infinity or if there are fewer weights than
 * workers. */
enum syn_status syn_worker_step(struct syn_worker *worker, const float *gradient,
                                const struct syn_rates *rates, float *weights);

/* (optional) Announce the next step before its gradient is complete, and then each of its tensors
 * as it becomes final: in synchronous steps the exchange of complete buckets begins at once.
 * syn_worker_step() with the same gradient completes the step; every tensor is then ready. */
enum syn_status syn_worker_start(struct syn_worker *worker, const float *gradient,
                                 const struct syn_rates *rates);
enum syn_status syn_worker_ready(struct syn_worker *worker, size_t tensor);

/* Use other optimizer settings for further steps (the learning rate is that of syn_rates times the
 * layout's factors): for schedulers that change more than the learning rate.
 *   options  of the same optimizer; the same on all workers
 *   layout   of the same tensors, with the rates they have from now on; not needed afterwards
 * Call it between two steps, on all workers; sends nothing. SYN_INVALID, with the reason and
 * nothing changed, if workers continue before a result has arrived or parameter servers run the
 * optimizer, where only the learning rate in syn_rates can change; or if it would change momentum
 * that is applied in the residual. */
enum syn_status syn_worker_tune(struct syn_worker *worker,
                                const struct syn_optimizer_options *options,
                                const struct syn_layout *layout);

/* Wait for all that is under way and get the global weights: for evaluation, checkpoints and the
 * end of training. Later steps are not affected. Collective. SYN_NONFINITE for a step that was
 * under way, as for syn_worker_step(); the weights are written nevertheless. */
enum syn_status syn_worker_settle(struct syn_worker *worker, float *weights);

/* What the last step, and all steps since the worker was opened, cost it. */
struct syn_cost syn_worker_last_cost(const struct syn_worker *worker);
struct syn_cost syn_worker_total_cost(const struct syn_worker *worker);

/* How much a step sent, and the measurements from which density auto was decided. */
struct syn_form {
    const char *values;
    double density;
    bool is_everything; /* all entries, exactly */
    bool is_measured;   /* there is a link, and its times decide; otherwise everything is sent */
    double compute_ms;  /* of the slowest worker, at the last decision; 0: no decision yet */
    double exchange_ms; /* the shortest of all workers */
};

/* The form of the last step. The same on all workers. */
struct syn_form syn_worker_form(const struct syn_worker *worker);

/* Number of steps made. */
uint64_t syn_worker_steps(const struct syn_worker *worker);

/* What this worker has not sent yet, [layout size], or NULL if it keeps no residual. Call it after
 * syn_worker_settle(). */
const float *syn_worker_residual(const struct syn_worker *worker);

/* Send the same number of bytes to all workers, and receive theirs: for what training loops must
 * agree on, such as when to stop. Collective. Nothing under way may be reading these arrays.
 *   mine  [count]
 *   all   [workers][count], in the order of the ranks */
enum syn_status syn_worker_gather(struct syn_worker *worker, const void *mine, size_t count,
                                  void *all);

/* The same in two halves, for loops that must not wait for an exchange under way: the bytes travel
 * after it, and are guaranteed to have arrived after the next step. Collective, one at a time.
 *   all  [workers][count], owned by the library until syn_worker_gather_end() */
enum syn_status syn_worker_gather_begin(struct syn_worker *worker, const void *mine, size_t count,
                                        void *all);
enum syn_status syn_worker_gather_end(struct syn_worker *worker);

/* Properties of the method that the options describe, as declared by their parts; an unknown part
 * has none. */
struct syn_traits {
    bool is_dense;    /* every gradient is sent whole */
    bool takes_share; /* the density's share of the entries is sent, exactly */
    bool is_delayed;  /* workers continue before the result has arrived */
    bool is_local;    /* they train independently and merge weights once per inner_steps */
    bool is_async;    /* workers do not wait for one another */
    bool is_merged;   /* lists are merged between workers, which servers cannot do */
    bool has_momentum;
    bool adapts; /* updates are divided by the magnitude of past gradients, which sparsity hides */
};
struct syn_traits syn_worker_traits(const struct syn_worker_options *options);

/* Tell the other members that this worker cannot continue, for a reason outside the library, so
 * that they do not wait for it. */
void syn_worker_abandon(struct syn_worker *worker, enum syn_status status, const char *cause);

/* Add this worker's state to an archive: its residual, its part of the global weights and of the
 * optimizer's state, its own weights and snapshots, its step number. Settles first. Collective. */
enum syn_status syn_worker_save(struct syn_worker *worker, struct syn_archive *archive);

/* Restore a state that syn_worker_save() wrote with the same options, layout, rank and number of
 * workers: the run continues bit for bit as it would have without the interruption. Call it before
 * the first step. SYN_FORMAT or SYN_MISMATCH with the reason if the state does not fit; the worker
 * is then unusable. */
enum syn_status syn_worker_load(struct syn_worker *worker, const struct syn_archive *archive);

/* Restore from the states of a run with a different number of workers: weights and optimizer state
 * are reassembled; residuals are added up in groups and scaled by the ratio of the numbers, which
 * preserves the sum of all residuals over P, that is, their effect on the weights. The workers' own
 * weights and snapshots start again.
 *   archives  [count] of all workers of that run, in the order of their ranks
 * Every worker of the new run calls it. */
enum syn_status syn_worker_load_regrouped(struct syn_worker *worker,
                                          const struct syn_archive *const *archives, size_t count);

/* The global weights in the states of all workers of a run, without opening a worker.
 *   archives  [count] of all workers, in the order of their ranks
 *   weights   [size] without those of frozen tensors
 * A different number of weights, or states that do not belong together: SYN_FORMAT. */
enum syn_status syn_worker_saved_weights(const struct syn_archive *const *archives, size_t count,
                                         size_t size, float *weights);

/* Close the worker. In a group with servers and synchronous steps, all workers must stop after the
 * same step: a worker that closes while others continue makes them fail. NULL is harmless. */
void syn_worker_close(struct syn_worker *worker);

/* Run as one of the parameter servers appointed by syn_group_appoint(): keep one shard of the
 * weights, apply what workers push, and answer their pulls. Server number i of S keeps the i-th of
 * S equal parts of the flat array.
 *   options, weights  the same as the workers'
 * Blocks until all workers have closed; if any member fails, it returns that failure. The group
 * still belongs to the caller. */
enum syn_status syn_worker_serve(struct syn_group *group, const struct syn_layout *layout,
                                 const struct syn_worker_options *options, const float *weights);

#ifdef __cplusplus
}
#endif
#endif

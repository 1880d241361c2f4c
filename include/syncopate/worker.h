/* The worker: it hands over the gradient it computed at its weights, and gets back the weights to
 * compute the next gradient at. Residual, selection, coding, exchange, both optimizers and the
 * delay are behind this one call.
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

/* The first fields are the rows of worker_options.def, of syn_worker_settings. */
struct syn_worker_options {
#define SYN_SETTING SYN_SETTING_FIELD
#include <syncopate/worker_options.def>
#undef SYN_SETTING
    struct syn_reducer_options
        reducer; /* syn_reducer_settings; its momentum, residual and depth follow
                                             * from the worker's and the optimizer's */
    struct syn_optimizer_options optimizer; /* syn_optimizer_settings; the global one */
};

extern const struct syn_settings_table syn_worker_settings;

/* Synchronous SGD. */
void syn_worker_defaults(struct syn_worker_options *options);

/* Whether these options go together; if not, SYN_INVALID with the reason. */
enum syn_status syn_worker_check(const struct syn_worker_options *options);

/* The same for a group that will have so many servers. */
enum syn_status syn_worker_check_servers(const struct syn_worker_options *options, size_t servers);

/* Open a worker.
 *   group    lent until syn_worker_close()
 *   weights  [layout size] to begin from, the same on all workers
 * Collective, parameter servers included: SYN_MISMATCH names who differs in what, first weights
 * included. Blocks. In a group with servers the options' store is theirs. */
enum syn_status syn_worker_open(struct syn_group *group, const struct syn_layout *layout,
                                const struct syn_worker_options *options, const float *weights,
                                struct syn_worker **worker);

/* What changes from step to step; the same on all workers. */
struct syn_rates {
    double lr;      /* above 0 */
    double density; /* 0: as the options say; if they say auto, as is decided from measured times */
    const char *values; /* exchange adaptive: form of the values at density 1; NULL: as the options
                         * say, or as is decided */
};

/* Hand over a gradient, get the weights for the next.
 *   gradient  [layout size] the mean over this worker's own mini-batch; may be overwritten
 *             afterwards
 *   weights   [layout size] overwritten; on failure unchanged, but for SYN_NONFINITE with a delay
 * Collective, but with schedule async, under which workers do not wait for one another and no two
 * runs are the same. Blocks as the schedule says, at most for the group's time-out.
 *
 * NaN or infinity in any worker's gradient is SYN_NONFINITE on all workers, in the same call, and
 * the next step may follow. Without a delay, the step did not happen: weights, residuals and the
 * optimizer's memory are as before it. With one, it may be found up to `window` steps late, also
 * by syn_worker_settle() and syn_worker_save(). Then the steps that were handed over from the bad
 * one on did not happen, nor did the one that fails; the workers' own weights and snapshots begin
 * again from the global weights, which are written to weights. The cause names the tensor; in store
 * shards, only on the worker whose gradient it is.
 *
 * It is final, SYN_NONFINITE or SYN_PEER with the same words, in a group with servers; and in store
 * shards if finite gradients add up to infinity, or if there are fewer weights than workers. */
enum syn_status syn_worker_step(struct syn_worker *worker, const float *gradient,
                                const struct syn_rates *rates, float *weights);

/* (optional) Announce the next step before its gradient is complete, and then each tensor of it
 * that is final: in synchronous steps the exchange of complete buckets begins at once.
 * syn_worker_step() with the same gradient ends the step, every tensor being ready. */
enum syn_status syn_worker_start(struct syn_worker *worker, const float *gradient,
                                 const struct syn_rates *rates);
enum syn_status syn_worker_ready(struct syn_worker *worker, size_t tensor);

/* Make further steps with other settings of the optimizer (learning rates are syn_rates' and the
 * layout's multiples of it): for schedulers that change more than the learning rate.
 *   options  of the same optimizer; the same on all workers
 *   layout   of the same tensors, with the rates they have from now on; not needed afterwards
 * Between two steps, on all workers alike; sends nothing. SYN_INVALID, with the reason and nothing
 * changed, if workers go on before a result is there or parameter servers have the optimizer: then
 * only syn_rates' learning rate changes; or if momentum, which is in the residual, would. */
enum syn_status syn_worker_tune(struct syn_worker *worker,
                                const struct syn_optimizer_options *options,
                                const struct syn_layout *layout);

/* Wait for all that is under way and get the global weights: for evaluation, checkpoints and the
 * end. Steps go on afterwards as if nothing had happened. Collective. SYN_NONFINITE, of a step that
 * was under way, as syn_worker_step(): the weights are written all the same. */
enum syn_status syn_worker_settle(struct syn_worker *worker, float *weights);

/* What the last step, and all steps since open, cost this worker. */
struct syn_cost syn_worker_last_cost(const struct syn_worker *worker);
struct syn_cost syn_worker_total_cost(const struct syn_worker *worker);

/* How much a step sent, and what a density that is left open was decided from. */
struct syn_form {
    const char *values;
    double density;
    bool is_everything; /* all entries, exactly */
    bool is_measured;   /* there is a link, whose times decide; else everything is sent */
    double compute_ms;  /* of the slowest worker, at the last decision; 0: there was none yet */
    double exchange_ms; /* the shortest of all workers */
};

/* The form of the last step. The same on all workers. */
struct syn_form syn_worker_form(const struct syn_worker *worker);

/* Steps made. */
uint64_t syn_worker_steps(const struct syn_worker *worker);

/* What this worker has not sent yet, [layout size], or NULL if nothing is kept. After
 * syn_worker_settle(). */
const float *syn_worker_residual(const struct syn_worker *worker);

/* Send all workers the same number of bytes, and receive theirs: for what a training loop must
 * agree on, such as when to stop. Collective. Nothing may be under way that reads them.
 *   mine  [count]
 *   all   [workers][count], in the order of the ranks */
enum syn_status syn_worker_gather(struct syn_worker *worker, const void *mine, size_t count,
                                  void *all);

/* The same in two halves, for loops that must not wait for an exchange under way: what is sent now
 * travels after it, and has arrived for sure after the next step. Collective, one at a time.
 *   all  [workers][count], the library's until syn_worker_gather_end() */
enum syn_status syn_worker_gather_begin(struct syn_worker *worker, const void *mine, size_t count,
                                        void *all);
enum syn_status syn_worker_gather_end(struct syn_worker *worker);

/* What options ask for, as their parts say of themselves; a part that there is not has no trait. */
struct syn_traits {
    bool is_dense;    /* every gradient is sent whole */
    bool takes_share; /* the density's share of the entries is sent, exactly */
    bool is_delayed;  /* workers go on before the result is there */
    bool is_local;    /* they train by themselves and merge weights, once in inner_steps */
    bool is_async;    /* workers do not wait for one another */
    bool is_merged;   /* lists are merged between workers, which servers cannot do */
    bool has_momentum;
    bool adapts; /* steps are divided by the size of past gradients, which sparse ones hide */
};
struct syn_traits syn_worker_traits(const struct syn_worker_options *options);

/* Tell the others that this worker cannot go on, for a reason of its own, so that nobody waits for
 * it. */
void syn_worker_abandon(struct syn_worker *worker, enum syn_status status, const char *cause);

/* Add this worker's state to an archive: what it has not sent, its part of the global weights and
 * of the optimizer's memory, its own weights and snapshots, its step. Settles first. Collective. */
enum syn_status syn_worker_save(struct syn_worker *worker, struct syn_archive *archive);

/* Take on a state that syn_worker_save() wrote with the same options, layout, rank and number of
 * workers: the run goes on to the bits it would have come to. Before the first step. SYN_FORMAT or
 * SYN_MISMATCH with the reason if it does not fit; the worker is then of no use. */
enum syn_status syn_worker_load(struct syn_worker *worker, const struct syn_archive *archive);

/* Take on the states of a run with another number of workers: weights and optimizer are put
 * together again, residuals are added up in groups and scaled by the ratio of the numbers, so that
 * the sum of all residuals over P, which is what they mean to the weights, stays. Own weights and
 * snapshots start again.
 *   archives  [count] of all workers of that run, in the order of their ranks
 * Every worker of the new run calls it. */
enum syn_status syn_worker_load_regrouped(struct syn_worker *worker,
                                          const struct syn_archive *const *archives, size_t count);

/* The global weights in the states of all workers of a run, without opening a worker.
 *   archives  [count] of all workers, in the order of their ranks
 *   weights   [size]
 * Another number of weights, or states that do not belong together: SYN_FORMAT. */
enum syn_status syn_worker_saved_weights(const struct syn_archive *const *archives, size_t count,
                                         size_t size, float *weights);

/* End. In a group with servers, synchronous steps end for all workers or for none: a worker that
 * closes while others go on fails them. NULL is harmless. */
void syn_worker_close(struct syn_worker *worker);

/* Be a parameter server, one of those that syn_group_appoint() has made: keep one shard of the
 * weights, apply what workers push, answer who asks. Server number i of S keeps the i-th of S equal
 * parts of the flat space.
 *   options, weights  the same as the workers'
 * Blocks until all workers have closed; a failure of any member ends it, with that failure. The
 * group stays the caller's. */
enum syn_status syn_worker_serve(struct syn_group *group, const struct syn_layout *layout,
                                 const struct syn_worker_options *options, const float *weights);

#ifdef __cplusplus
}
#endif
#endif

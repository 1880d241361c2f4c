/* Where the global weights live: who owns the sums of gradients, and applies the global optimizer
 * to them. The worker contributes gradients and collects the results (road.c); a store defines what
 * is done with a sum, and holds the weights. */
#ifndef SYN_WORKER_STORE_H
#define SYN_WORKER_STORE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <syncopate/worker.h>

#include "base/table.h"
#include "optim/optim.h"
#include "reducer/road.h"

struct syn_store_setup {
    struct syn_group *group;
    const struct syn_layout *layout;
    const struct syn_worker_options *options; /* resolved */
    const float *weights;                     /* [size] initial ones */
};

struct syn_store_type {
    struct syn_part part;

    bool has_servers; /* the group must have servers, and they keep the global weights */

    /* (optional) Whether the setting "auto" selects this store; rows further down the table are
     * asked first. Without it, the store is selected if no row below suits. */
    bool (*suits)(const struct syn_worker_options *options);

    /* (optional) How contributions reach owners that keep the sums; the store is its state. Without
     * it every worker owns everything, through the options' exchange. */
    const struct syn_exchange_type *owners;
    bool halves_exchange; /* by the first half of the options' exchange, which must have one */

    enum syn_status (*open)(const struct syn_store_setup *setup, void **state);

    /* (optional) The reducer is open: there is a communication thread, for other messages.
     *   cost  their cost is added to it */
    void (*attach)(void *state, struct syn_comm *comm, struct syn_cost *cost);

    /* (optional) Apply the sum of a collected step. Without it the owners have done so.
     *   merged  may be NULL if there is a trial
     *   trial   a step to try out afterwards, or NULL; only if the store tries */
    enum syn_status (*apply)(void *state, const struct syn_merged *merged, double lr,
                             struct syn_trial *trial);
    bool tries;

    /* (optional) Continue with other optimizer settings and the layout's current rates, with
     * nothing in flight. Without it this worker cannot change them. */
    enum syn_status (*tune)(void *state, const struct syn_optimizer_options *options,
                            const struct syn_layout *layout);

    /* The weights after the last step that pulls, once it is collected. Valid until the next step
     * that pulls is contributed. */
    const float *(*pulled)(const void *state);
    bool pulled_stays; /* longer: until the next step is collected */

    /* (optional) Write the global weights, with nothing in flight. Collective. Without it they are
     * what pulled() returns. */
    enum syn_status (*settle)(void *state, float *weights);

    /* Add the store's state to an archive, with nothing in flight; restore it. */
    enum syn_status (*save)(void *state, struct syn_archive *archive);
    enum syn_status (*load)(void *state, const struct syn_archive *archive);

    /* Restore the states of a run with another number of workers.
     *   weights  [size] the global ones, for the worker to continue from */
    enum syn_status (*load_regrouped)(void *state, const struct syn_archive *const *archives,
                                      size_t count, float *weights);

    /* (optional) Read the global weights from the states of all workers of a run. Without it each
     * state has all of them, as "store/weights". */
    enum syn_status (*saved)(const struct syn_archive *const *archives, size_t count, size_t size,
                             float *weights);

    /* (optional) Announce that this worker ends, while the communication thread still exists. */
    void (*leave)(void *state);

    void (*close)(void *state);
};

const struct syn_store_type *syn_store_row(size_t i);
const struct syn_store_type *syn_store_find(const char *name);
const char *syn_store_name(size_t i);

/* The choices for options: "auto" and then the rows. */
const char *syn_store_choice(size_t i);

/* The optimizer's memory as a section of that name. */
#define SYN_STORE_OPTIMIZER "store/optimizer"
enum syn_status syn_store_save_optimizer(const struct syn_optimizer *optimizer, const char *name,
                                         struct syn_archive *archive);
enum syn_status syn_store_load_optimizer(struct syn_optimizer *optimizer, const char *name,
                                         const struct syn_archive *archive);

#endif

/* Where the global weights live, and how a gradient gets there. A store takes in every gradient,
 * applies the global optimizer to the sum, and hands out the weights when they are asked for; all
 * in the background. */
#ifndef SYN_WORKER_STORE_H
#define SYN_WORKER_STORE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <syncopate/worker.h>

#include "base/table.h"
#include "reducer/comm.h"

struct syn_store_setup {
    struct syn_group *group;
    const struct syn_layout *layout;
    const struct syn_worker_options *options; /* resolved */
    const float *weights;                     /* [size] the first ones */
    bool is_delayed; /* gradients must be copied: they are overwritten meanwhile */
};

struct syn_store_type {
    struct syn_part part;

    /* (optional) Why these options cannot be had, as a failure. */
    enum syn_status (*check)(const struct syn_worker_options *options);

    enum syn_status (*open)(const struct syn_store_setup *setup, void **state);

    /* (optional) A step begins whose gradient is not complete yet; tensor number i of it is.
     * Without them the push does everything. */
    enum syn_status (*start)(void *state, const float *gradient, const struct syn_rates *rates);
    enum syn_status (*ready)(void *state, size_t tensor);

    /* Hand over a gradient (the rest of it, if the step was started). Does not wait for peers.
     *   pulls  the weights after this step will be asked for with take() */
    enum syn_status (*push)(void *state, const float *gradient, const struct syn_rates *rates,
                            bool pulls);

    /* Wait until at most `left` pushes are unanswered. */
    enum syn_status (*drain)(void *state, size_t left);

    /* Wait for the weights of the last push that pulls. Valid until the next push that pulls. */
    enum syn_status (*take)(void *state, const float **weights);

    /* Wait for everything and write the global weights. Collective. */
    enum syn_status (*settle)(void *state, float *weights);

    /* The communication thread, for what else must be said on the group while nothing is under
     * way. */
    struct syn_comm *(*comm)(void *state);

    /* What pushes have cost since it was asked last. */
    struct syn_cost (*cost)(void *state);

    /* (optional) What this worker has not sent. */
    const float *(*residual)(void *state);

    /* (optional) Add the store's state to an archive, nothing being under way; take it on again. */
    enum syn_status (*save)(void *state, struct syn_archive *archive);
    enum syn_status (*load)(void *state, const struct syn_archive *archive);

    /* (optional) Take on the states of a run with another number of workers.
     *   weights  [size] the global ones, for the worker to go on from */
    enum syn_status (*load_regrouped)(void *state, const struct syn_archive *const *archives,
                                      size_t count, float *weights);

    void (*close)(void *state);
};

const struct syn_store_type *syn_store_row(size_t i);
const struct syn_store_type *syn_store_find(const char *name);
const char *syn_store_name(size_t i);

/* The choices for options: "auto" and then the rows. */
const char *syn_store_choice(size_t i);

/* Make the global optimizer of so many weights.
 *   options  resolved */
enum syn_status syn_store_open_optimizer(const struct syn_worker_options *options, size_t size,
                                         struct syn_optimizer **optimizer);

/* The optimizer's memory as a section "store/optimizer". */
enum syn_status syn_store_save_optimizer(const struct syn_optimizer *optimizer,
                                         struct syn_archive *archive);
enum syn_status syn_store_load_optimizer(struct syn_optimizer *optimizer,
                                         const struct syn_archive *archive);

/* Add up costs. */
void syn_cost_add(struct syn_cost *sum, const struct syn_cost *more);

#endif

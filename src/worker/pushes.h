/* Gradients on their way through a reducer, in the order of pushing: what stores that have a
 * reducer share. Their state begins with it. */
#ifndef SYN_WORKER_PUSHES_H
#define SYN_WORKER_PUSHES_H

#include "reducer/inside.h"
#include "worker/store.h"

#define SYN_MOST_WINDOW 16

struct syn_pushes {
    struct syn_reducer *reducer;
    size_t size;
    size_t window;
    size_t open; /* pushes unanswered, at most window */
    size_t oldest;
    bool sends_updates;
    double longest;       /* gradient that is not clipped before it is sent; 0: any */
    bool is_started;      /* the next push has been announced */
    struct syn_cost cost; /* since the store was last asked */
    struct {
        struct syn_ticket ticket;
        double lr;
        float *copy; /* [size] the gradient, where it would be overwritten too early; or NULL */
    } slots[SYN_MOST_WINDOW];
};

/* All zero before.
 *   exchange, state  as for syn_reducer_open_over(); NULL: as the options say */
enum syn_status syn_pushes_open(struct syn_pushes *pushes, const struct syn_store_setup *setup,
                                const struct syn_exchange_type *exchange, void *state);
void syn_pushes_close(struct syn_pushes *pushes);

/* The place of the next push in the ring: its number modulo window. */
static inline size_t syn_pushes_place(const struct syn_pushes *pushes)
{
    return (pushes->oldest + pushes->open) % pushes->window;
}

/* Announce a push; fewer than window must be open. */
enum syn_status syn_pushes_start(struct syn_pushes *pushes, const float *gradient,
                                 const struct syn_rates *rates);

/* Hand over a gradient, announced or not; if not, fewer than window must be open. */
enum syn_status syn_pushes_begin(struct syn_pushes *pushes, const float *gradient,
                                 const struct syn_rates *rates);

/* Wait for the oldest push, of which there is one.
 *   lr  that it was handed over with
 * After SYN_NONFINITE no push is open, and the next may begin. */
enum syn_status syn_pushes_finish(struct syn_pushes *pushes, struct syn_merged *merged, double *lr);

/* The reducer's state as a section "store/reducer", nothing being under way; take it on again, or
 * this worker's share of the states of a run with another number of workers. */
enum syn_status syn_pushes_save(const struct syn_pushes *pushes, struct syn_archive *archive);
enum syn_status syn_pushes_load(struct syn_pushes *pushes, const struct syn_archive *archive);
enum syn_status syn_pushes_load_regrouped(struct syn_pushes *pushes,
                                          const struct syn_archive *const *archives, size_t count);

/* These of a store's functions are the same for all whose state begins with its pushes. */
enum syn_status syn_pushes_ready(void *state, size_t tensor);
struct syn_comm *syn_pushes_comm(void *state);
struct syn_cost syn_pushes_cost(void *state);
const float *syn_pushes_residual(void *state);

#endif

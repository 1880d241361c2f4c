/* The path of a gradient, for code that trains with it. Every method has three stages:
 *
 *     contribute   residual, selection, coding                              training thread
 *     own          contributions travel to their owners, who add them up    communication thread
 *                  and, where they keep the weights, update them
 *     collect      the result: sums, or that the owners have them           training thread
 *
 * Owners are either everyone (the exchange gives all workers the sum), or others (the exchange
 * leaves the sums with them). Several steps may be in flight; they are collected in the order in
 * which they were contributed. include/syncopate/reducer.h is the same path for callers who need
 * only the sum. */
#ifndef SYN_REDUCER_ROAD_H
#define SYN_REDUCER_ROAD_H

#include <syncopate/archive.h>
#include <syncopate/reducer.h>

#include "exchange/exchange.h"
#include "reducer/comm.h"

struct syn_road_setup {
    struct syn_group *group;
    const struct syn_layout *layout;
    const struct syn_reducer_options *options; /* its depth is the number of steps in flight */
    const struct syn_exchange_type *owners; /* NULL: the options' exchange; open and close unused */
    void *owners_state;                     /* lent until syn_reducer_close() */
    bool overwrites; /* gradients are overwritten, or scaled, while their step is in flight */
};

/* As syn_reducer_open(). */
enum syn_status syn_reducer_open_road(const struct syn_road_setup *setup,
                                      struct syn_reducer **reducer);

/* What is sent along with a gradient. The same on all workers. */
struct syn_push {
    double density; /* 0: as in the options */
    float scale;    /* multiplies the gradient */
    double lr;
    bool pulls;         /* the weights after this step are requested */
    const char *values; /* as in struct syn_step */
};

/* Contribute a gradient; as syn_reducer_begin(), if fewer than depth steps are in flight. */
enum syn_status syn_reducer_contribute(struct syn_reducer *reducer, const float *gradient,
                                       const struct syn_push *push);

/* Contribute one that becomes ready tensor by tensor; as syn_reducer_start(). */
enum syn_status syn_reducer_announce(struct syn_reducer *reducer, const float *gradient,
                                     const struct syn_push *push);

/* Steps that were contributed and not yet collected. */
size_t syn_reducer_in_flight(const struct syn_reducer *reducer);

/* Collect the oldest step in flight; as syn_reducer_wait().
 *   merged  its sum or, if its owners are others, only its cost
 *   lr      with which it was contributed
 * After SYN_NONFINITE no step is in flight: all of them were dropped, by all workers alike. An
 * exchange that leaves sums with owners must not apply those that follow the bad one: they have the
 * same attempt number. */
enum syn_status syn_reducer_collect(struct syn_reducer *reducer, struct syn_merged *merged,
                                    double *lr);

/* For other messages on the group. */
struct syn_comm *syn_reducer_comm(struct syn_reducer *reducer);

/* Save the reducer's state as a section "store/reducer", with nothing in flight; restore it, or
 * restore this worker's share of the states of a run with another number of workers. */
enum syn_status syn_reducer_archive(const struct syn_reducer *reducer, struct syn_archive *archive);
enum syn_status syn_reducer_unarchive(struct syn_reducer *reducer,
                                      const struct syn_archive *archive);
enum syn_status syn_reducer_unarchive_regrouped(struct syn_reducer *reducer,
                                                const struct syn_archive *const *archives,
                                                size_t count);

/* Fail with SYN_NONFINITE, naming the tensor and the entry in it.
 *   what   is not finite: "gradient"
 *   entry  in the flat array */
enum syn_status syn_fail_nonfinite(const struct syn_layout *layout, const char *what, size_t entry);

/* Add up costs. */
void syn_cost_add(struct syn_cost *sum, const struct syn_cost *more);

#endif

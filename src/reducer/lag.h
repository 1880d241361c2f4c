/* A residual with momentum that lags one step. A step writes only its new velocity, and the sums
 * that it selects from exist one block at a time; the next step's pass adds that velocity to the
 * unsent entries and subtracts what was sent, just before it reads them. The state from before a
 * step is thus available until the next one begins, as needed if the step fails, with three arrays
 * of the parameters' size instead of four, and no more bytes moved.
 *
 * This requires that merges drop nothing, as what comes back would have to be added in between, and
 * that only one step is under way at a time. */
#ifndef SYN_REDUCER_LAG_H
#define SYN_REDUCER_LAG_H

#include "residual/residual.h"

struct syn_reducer;

/* Bring count entries from `first` on up to date: add the velocity, subtract what was sent.
 *   residual  starts at the bucket's first entry
 *   sent      indices in the bucket; entries outside the range are ignored */
void syn_lag_settle(const struct syn_residual_type *type, const struct syn_residual *residual,
                    const struct syn_list *sent, size_t first, size_t count);

/* Let the reducer's residual lag if possible. Called before the first step by an opener that never
 * calls syn_reducer_drop(). */
void syn_reducer_let_lag(struct syn_reducer *reducer);

/* Bring the whole residual up to date, unless a step is under way. If the reducer may lag, call
 * this before syn_reducer_residual() and syn_reducer_save(). Training thread only. */
void syn_reducer_settle(struct syn_reducer *reducer);

#endif

/* A residual with momentum that is a step behind. A step writes its new velocity only, and the sums
 * that it selects from exist no longer than its blocks; the next step's pass adds that velocity to
 * what is unsent, and takes away what was sent, just before it reads it. So what was there before a
 * step is there until the next one begins, as it must be for a step that fails, with three arrays
 * of the parameters' size instead of four, and as many bytes moved.
 *
 * For this merges must drop nothing, as what comes back would have to be added in between, and one
 * step be under way at a time. */
#ifndef SYN_REDUCER_LAG_H
#define SYN_REDUCER_LAG_H

#include "residual/residual.h"

struct syn_reducer;

/* Bring count entries from `first` on up to date: add the velocity, take away what was sent.
 *   residual  from the bucket's first entry
 *   sent      in the bucket's numbers; entries elsewhere are left alone */
void syn_lag_settle(const struct syn_residual_type *type, const struct syn_residual *residual,
                    const struct syn_list *sent, size_t first, size_t count);

/* Let the reducer's residual lag if it can, before its first step: the opener will never call
 * syn_reducer_drop(). */
void syn_reducer_let_lag(struct syn_reducer *reducer);

/* Bring the whole residual up to date, unless a step is under way. Who may have a reducer that lags
 * calls it before syn_reducer_residual() and syn_reducer_save(). Training thread only. */
void syn_reducer_settle(struct syn_reducer *reducer);

#endif

/* The way of a gradient to a list: residual.add, which collects what the selection scans
 * for, block by block, then select.finish. One pass over memory. */
#ifndef SYN_REDUCER_INTAKE_H
#define SYN_REDUCER_INTAKE_H

#include "base/pool.h"
#include "residual/residual.h"
#include "select/select.h"

/* What residuals forgot in a pass. */
struct syn_forgotten {
    double sum;
    double mass; /* the sum of magnitudes */
};

/* One bucket's pass. All pointers but the pieces' are to the bucket's first entry. */
struct syn_intake {
    const struct syn_residual_type *residual_type;
    const struct syn_select_type *select_type;
    void *select; /* its state */
    struct syn_residual before;
    struct syn_residual after;
    const float *gradient;          /* [size], or NULL if it lies in pieces */
    const struct syn_piece *pieces; /* of the whole gradient */
    size_t first;                   /* the bucket's, in them */
    size_t size;
    float momentum;
    float scale;
    float forget;                    /* this share of before.unsent; 0: nothing */
    struct syn_forgotten *forgotten; /* what that was is added here; NULL if nothing is */
    bool lags; /* before.unsent is updated in place, and the new sums are not written (lag.c) */
    const struct syn_list *sent; /* lagging: what the step before sent; NULL: it is settled */
};

/* The sums of the pass. */
struct syn_sums syn_intake_sums(const struct syn_intake *intake);

/* Write `after`, and, unless the selection is dense, the picks.
 *   picked  room for limit; unused if dense
 * Returns the largest magnitude met: not below SYN_INFINITY_BITS if something is not finite; picked
 * is empty then. */
uint32_t syn_intake_run(const struct syn_intake *intake, struct syn_pool *pool, size_t limit,
                        double density, struct syn_list *picked);

/* The first entry whose gradient, or if there is none whose sum or velocity, is not finite; or
 * size. */
size_t syn_intake_first_bad(const struct syn_intake *intake);

#endif

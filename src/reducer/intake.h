/* From a gradient to a list in one pass over memory: residual.add, which collects what the
 * selection scans for, block by block, then select.finish. */
#ifndef SYN_REDUCER_INTAKE_H
#define SYN_REDUCER_INTAKE_H

#include "base/pool.h"
#include "reducer/order.h"
#include "residual/residual.h"
#include "select/select.h"

/* What was forgotten from residuals in a pass. */
struct syn_forgotten {
    double sum;
    double mass; /* the sum of magnitudes */
};

/* One bucket's pass. Pointers to residuals refer to the bucket's first entry. */
struct syn_intake {
    const struct syn_residual_type *residual_type;
    const struct syn_select_type *select_type;
    void *select; /* its state */
    struct syn_residual before;
    struct syn_residual after;
    const float *gradient;          /* all of it, or NULL if it is in pieces */
    const struct syn_piece *pieces; /* of the whole gradient */
    const struct syn_order *order;  /* gradients are in the layout's order; NULL: so is the rest */
    size_t first;                   /* of the bucket, in the reducer's order */
    size_t size;
    float momentum;
    float scale;
    float forget;                    /* this share of before.unsent is forgotten; 0: nothing */
    struct syn_forgotten *forgotten; /* the amount is added here; NULL if nothing is forgotten */
    bool lags; /* before.unsent is updated in place, and the new sums are not written (lag.c) */
    const struct syn_list *sent; /* lagging: what the previous step sent; NULL: already settled */
};

/* The sums of the pass. */
struct syn_sums syn_intake_sums(const struct syn_intake *intake);

/* Write `after` and, unless the selection is dense, the picked entries.
 *   picked  room for limit; unused if dense
 * Returns the largest magnitude found; it is at least SYN_INFINITY_BITS if something is not finite,
 * and picked is then empty. */
uint32_t syn_intake_run(const struct syn_intake *intake, struct syn_pool *pool, size_t limit,
                        double density, struct syn_list *picked);

/* The first entry whose gradient is not finite; if there is none, the first whose sum or velocity
 * is not finite; otherwise size. */
size_t syn_intake_first_bad(const struct syn_intake *intake);

#endif

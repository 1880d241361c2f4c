/* The way of a gradient to a list: residual.add, which catches what the selection's net is cast
 * for, block by block, then select.finish. One pass over memory. */
#ifndef SYN_REDUCER_INTAKE_H
#define SYN_REDUCER_INTAKE_H

#include "base/pool.h"
#include "residual/residual.h"
#include "select/select.h"

/* One bucket's pass. All pointers are to the bucket's first entry. */
struct syn_intake {
    const struct syn_residual_type *residual_type;
    const struct syn_select_type *select_type;
    void *select; /* its state */
    struct syn_residual before;
    struct syn_residual after;
    const float *gradient;
    size_t size;
    float momentum;
    float scale;
};

/* Write `after`, and, unless the selection is dense, the picks.
 *   picked  room for limit; unused if dense
 * Returns the largest magnitude met: not below SYN_INFINITY_BITS if something is not finite; picked
 * is empty then. */
uint32_t syn_intake_run(const struct syn_intake *intake, struct syn_pool *pool, size_t limit,
                        double density, struct syn_list *picked);

#endif

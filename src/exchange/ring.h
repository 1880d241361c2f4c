/* The two halves of a ring all-reduce, for callers that do something in between. */
#ifndef SYN_EXCHANGE_RING_H
#define SYN_EXCHANGE_RING_H

#include "exchange/exchange.h"

struct syn_ring;

/* A ring for arrays of at most size floats.
 *   values  the form in which they travel; none with needs_scale; NULL: syn_ring_use() sets it */
enum syn_status syn_ring_open(struct syn_group *group, size_t size,
                              const struct syn_value_type *values, struct syn_ring **ring);
void syn_ring_close(struct syn_ring *ring);

/* Set the form in which values travel from now on. Only for a ring that was opened without one; the
 * same on all workers. */
void syn_ring_use(struct syn_ring *ring, const struct syn_value_type *values);

/* Both halves, and the search for non-finite sums: the exchange "ring". */
enum syn_status syn_ring_run(struct syn_ring *ring, const struct syn_contribution *in,
                             struct syn_outcome *out);

/* The chunk whose sum this worker ends with. */
struct syn_chunk syn_ring_own(const struct syn_ring *ring, size_t size);

/* Reduce-scatter: afterwards this worker's own chunk of out is the sum of all workers' in; the rest
 * of out is undefined. in may be out.
 *   dropped  [size] what rounding removed from what this worker passed on; unused if exact */
enum syn_status syn_ring_reduce(struct syn_ring *ring, const float *in, float *out, float *dropped,
                                size_t size);

/* All-gather: afterwards data consists, on every worker, of all workers' own chunks.
 *   dropped  as above, for this worker's own chunk */
enum syn_status syn_ring_allgather(struct syn_ring *ring, float *data, float *dropped, size_t size);

#endif

/* Clipping: a gradient longer than the setting `clip` is shortened to it.
 *
 * Dense methods clip the mean over all workers, where it is applied: P workers with parts of a
 * batch then do the same as one with the whole batch. A member that has only a shard of the mean
 * sends the others its part of the squared norm: eight bytes to each, all at once.
 *
 * If only a part of a gradient is sent, no member can know that norm: each worker clips its own
 * gradient at clip before it enters the residual, and their mean is then no longer than that. (DGC
 * clips at clip / sqrt(P), which suits a sum of P gradients; for the mean it made steps half as
 * long with four workers, and a language model a fifth worse: docs/results.md.) */
#ifndef SYN_WORKER_CLIP_H
#define SYN_WORKER_CLIP_H

#include <syncopate/worker.h>

/* The largest norm of the mean gradient of all workers where it is applied; 0: no limit. */
double syn_clip_merged(const struct syn_worker_options *options);

/* The largest norm of a worker's own gradient before it is sent; 0: no limit. */
double syn_clip_own(const struct syn_worker_options *options);

#endif

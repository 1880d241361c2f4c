/* Clipping: a gradient longer than the setting `clip` is shortened to it.
 *
 * Dense methods clip the mean over all workers, where it is applied: P workers with parts of a
 * batch then do what one with the whole batch does. Who has only a shard of the mean tells the
 * others its part of the square of the norm: eight bytes to each, all at once.
 *
 * Where only a part of a gradient is sent, that norm is nobody's to know: each worker clips its own
 * gradient at clip / sqrt(P) before it enters the residual, as the mean of P gradients whose noise
 * is independent is shorter by sqrt(P). Asynchronous workers, each of whose gradients is applied by
 * itself, clip it at clip. */
#ifndef SYN_WORKER_CLIP_H
#define SYN_WORKER_CLIP_H

#include <stddef.h>

#include <syncopate/worker.h>

/* How long the mean gradient of all workers may be where it is applied; 0: any length. */
double syn_clip_merged(const struct syn_worker_options *options);

/* How long a worker's own gradient may be before it is sent; 0: any length. */
double syn_clip_own(const struct syn_worker_options *options, size_t workers);

#endif

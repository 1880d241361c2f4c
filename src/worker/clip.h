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

#include <stdbool.h>
#include <stddef.h>

#include <syncopate/worker.h>

#include "transport/transport.h"

/* Whether the mean over all workers is clipped. */
bool syn_clip_is_merged(const struct syn_worker_options *options);

/* How long a worker's own gradient may be before it is sent; 0: any length. */
double syn_clip_own(const struct syn_worker_options *options, size_t workers);

/* The sum of the squares; the same bits on every machine. */
double syn_clip_square(const float *x, size_t count);

/* What a gradient of this norm is multiplied by. 1 for one that is not finite, which is found
 * elsewhere.
 *   longest  0: any length */
double syn_clip_scale(double norm, double longest);

/* Members of a group who have a part of the mean each. */
struct syn_clip_party {
    struct syn_group *group;
    size_t first; /* they are the members first to first + count - 1 */
    size_t count;
    double *parts;                /* [count] */
    struct syn_request *requests; /* [2 * count]: sends, then receives */
};

/* All zero before. */
enum syn_status syn_clip_party_open(struct syn_clip_party *party, struct syn_group *group,
                                    size_t first, size_t count);
void syn_clip_party_close(struct syn_clip_party *party);

/* Tell the others the square of the own part, and get that of the whole, added in the order of
 * ranks. Whoever speaks on the group calls it. Collective among them. */
enum syn_status syn_clip_party_add(struct syn_clip_party *party, double own, double *whole);

#endif

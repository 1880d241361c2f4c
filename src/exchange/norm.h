/* The norm of an array, and of one whose parts lie with several members: each tells the others its
 * part of the square, eight bytes to each, all at once. */
#ifndef SYN_EXCHANGE_NORM_H
#define SYN_EXCHANGE_NORM_H

#include <stddef.h>

#include <syncopate/optimizer.h>

#include "transport/transport.h"

/* What a gradient of this norm is multiplied by. 1 for one that is not finite, which is found
 * elsewhere.
 *   longest  0: any length */
double syn_norm_scale(double norm, double longest);

/* Members of a group who have a part of the mean each. */
struct syn_norm {
    struct syn_group *group;
    size_t first; /* they are the members first to first + count - 1 */
    size_t count;
    double *parts;                /* [count] */
    struct syn_request *requests; /* [2 * count]: sends, then receives */
};

/* All zero before. */
enum syn_status syn_norm_open(struct syn_norm *norm, struct syn_group *group, size_t first,
                              size_t count);
void syn_norm_close(struct syn_norm *norm);

/* Tell the others the square of the own part, and get that of the whole, added in the order of
 * ranks. Whoever speaks on the group calls it. Collective among them. */
enum syn_status syn_norm_add(struct syn_norm *norm, double own, double *whole);

#endif

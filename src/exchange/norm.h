/* The norm of an array, and of an array whose parts are on several members: each sends the others
 * its part of the square, eight bytes to each, all at once. */
#ifndef SYN_EXCHANGE_NORM_H
#define SYN_EXCHANGE_NORM_H

#include <stddef.h>

#include <syncopate/optimizer.h>

#include "transport/transport.h"

/* The factor by which a gradient of this norm is multiplied to clip it. 1 for one that is not
 * finite, which is detected elsewhere.
 *   longest  0: no limit */
double syn_norm_scale(double norm, double longest);

/* Members of a group that have a part of the mean each. */
struct syn_norm {
    struct syn_group *group;
    size_t first; /* they are members first to first + count - 1 */
    size_t count;
    double *parts;                /* [count] */
    struct syn_request *requests; /* [2 * count]: sends, then receives */
};

/* *norm must be zeroed before. */
enum syn_status syn_norm_open(struct syn_norm *norm, struct syn_group *group, size_t first,
                              size_t count);
void syn_norm_close(struct syn_norm *norm);

/* Send the square of the own part to the others, and get that of the whole, added up in the order
 * of the ranks. Call it on the thread that communicates on the group. Collective among these
 * members. */
enum syn_status syn_norm_add(struct syn_norm *norm, double own, double *whole);

#endif

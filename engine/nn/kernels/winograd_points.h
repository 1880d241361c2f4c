/* Winograd's transformations of one row or column. The points are 0, 1, -1 and infinity for tiles
 * of 4, and 0, A, -A, B, -B and infinity for tiles of 6, where A = sqrt(1/2) and B = sqrt(2) lose
 * half as many bits as the usual 1 and 2. In the comments A, B and G are the matrices of the
 * method, and A' is A transposed. */
#ifndef SYN_NN_KERNELS_WINOGRAD_POINTS_H
#define SYN_NN_KERNELS_WINOGRAD_POINTS_H

#include "engine/nn/kernels/lanes.h"

#define TILE 6 /* the largest */

#define A 0.707106781186547524f
#define B 1.414213562373095049f

/* o = B' d */
SYN_INLINE void input_points(const lanes *d, lanes *o, const size_t tile)
{
    if (tile == 4) {
        o[0] = d[0] - d[2];
        o[1] = d[1] + d[2];
        o[2] = d[2] - d[1];
        o[3] = d[3] - d[1];
        return;
    }
    lanes even1 = d[4] - 2.0f * d[2];
    lanes odd1 = A * (d[3] - 2.0f * d[1]);
    lanes even2 = d[4] - 0.5f * d[2];
    lanes odd2 = B * (d[3] - 0.5f * d[1]);
    o[0] = d[0] + d[4] - 2.5f * d[2];
    o[1] = even1 + odd1;
    o[2] = even1 - odd1;
    o[3] = even2 + odd2;
    o[4] = even2 - odd2;
    o[5] = d[1] + d[5] - 2.5f * d[3];
}

/* o = A' p, side values from the points of a tile. */
SYN_INLINE void output_values(const lanes *p, lanes *o, const size_t side, const size_t tile)
{
    lanes sum1 = p[1] + p[2];
    lanes difference1 = p[1] - p[2];
    o[0] = p[0] + sum1;
    o[1] = difference1;
    if (tile == 6) {
        lanes sum2 = p[3] + p[4];
        lanes difference2 = p[3] - p[4];
        o[0] += sum2;
        o[1] = A * difference1 + B * difference2;
        if (side == 4) {
            o[2] = 0.5f * sum1 + 2.0f * sum2;
            o[3] = 0.5f * A * difference1 + 2.0f * B * difference2;
        }
    }
    o[side - 1] += p[tile - 1];
}

/* o = A y, the points of a tile from side values. */
SYN_INLINE void output_points(const lanes *y, lanes *o, const size_t side, const size_t tile)
{
    o[0] = y[0];
    o[tile - 1] = y[side - 1];
    if (tile == 4) {
        o[1] = y[0] + y[1];
        o[2] = y[0] - y[1];
        return;
    }
    lanes even1 = side == 2 ? y[0] : y[0] + 0.5f * y[2];
    lanes odd1 = A * (side == 2 ? y[1] : y[1] + 0.5f * y[3]);
    lanes even2 = side == 2 ? y[0] : y[0] + 2.0f * y[2];
    lanes odd2 = B * (side == 2 ? y[1] : y[1] + 2.0f * y[3]);
    o[1] = even1 + odd1;
    o[2] = even1 - odd1;
    o[3] = even2 + odd2;
    o[4] = even2 - odd2;
}

/* d = B p, the values of a tile from its points. */
SYN_INLINE void input_values(const lanes *p, lanes *d, const size_t tile)
{
    d[0] = p[0];
    d[tile - 1] = p[tile - 1];
    if (tile == 4) {
        d[1] = p[1] - p[2] - p[3];
        d[2] = p[1] + p[2] - p[0];
        return;
    }
    lanes sum1 = p[1] + p[2];
    lanes sum2 = p[3] + p[4];
    lanes difference1 = A * (p[1] - p[2]);
    lanes difference2 = B * (p[3] - p[4]);
    d[1] = p[5] - 2.0f * difference1 - 0.5f * difference2;
    d[2] = -2.5f * p[0] - 2.0f * sum1 - 0.5f * sum2;
    d[3] = difference1 + difference2 - 2.5f * p[5];
    d[4] = p[0] + sum1 + sum2;
}

#endif

/* One pass over the gradient gives its norm and tells whether all of it is finite: squares of
 * floats cannot overflow a double, so the sum is finite if and only if every entry is.
 *
 * Eight partial sums in a fixed order: wide enough for vector code, and the same bits whatever
 * its width. */
#include "engine/train/replica/gradient.h"

#include <math.h>

#define LANES 8

double syn_gradient_norm(const float *gradient, size_t count)
{
    double sums[LANES] = {0};
    size_t whole = count - count % LANES;
    for (size_t i = 0; i < whole; i += LANES)
        for (size_t j = 0; j < LANES; j++)
            sums[j] += (double)gradient[i + j] * (double)gradient[i + j];
    for (size_t i = whole; i < count; i++)
        sums[i - whole] += (double)gradient[i] * (double)gradient[i];
    double sum = 0;
    for (size_t j = 0; j < LANES; j++)
        sum += sums[j];
    return sqrt(sum);
}

size_t syn_gradient_find_nonfinite(const float *gradient, size_t count)
{
    size_t i = 0;
    while (i < count && isfinite(gradient[i]))
        i++;
    return i;
}

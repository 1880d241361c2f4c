/* One pass over the gradient gives its norm, and shows whether all of it is finite. */
#include "engine/train/replica/gradient.h"

#include <math.h>

#include <syncopate/optimizer.h>

double syn_gradient_norm(const float *gradient, size_t count)
{
    return sqrt(syn_norm_square(gradient, count));
}

size_t syn_gradient_find_nonfinite(const float *gradient, size_t count)
{
    size_t i = 0;
    while (i < count && isfinite(gradient[i]))
        i++;
    return i;
}

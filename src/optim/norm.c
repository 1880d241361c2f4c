/* Squares of floats cannot overflow a double. Eight partial sums in a fixed order: wide enough for
 * vector code, with the same bits at any vector width. */
#include <syncopate/optimizer.h>

#define LANES 8

double syn_norm_square(const float *x, size_t count)
{
    double sums[LANES] = {0};
    size_t whole = count - count % LANES;
    for (size_t i = 0; i < whole; i += LANES)
        for (size_t j = 0; j < LANES; j++)
            sums[j] += (double)x[i + j] * (double)x[i + j];
    for (size_t i = whole; i < count; i++)
        sums[i - whole] += (double)x[i] * (double)x[i];
    double sum = 0;
    for (size_t j = 0; j < LANES; j++)
        sum += sums[j];
    return sum;
}

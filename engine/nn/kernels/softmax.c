/* Softmax and cross-entropy in three passes over a row that is in the cache: the maximum, the
 * exponentials with their sum, the gradient. Scores are overwritten by their gradient, so that the
 * largest array of a language model exists only once. */
#include "engine/nn/kernels/kernels.h"
#include "engine/nn/kernels/lanes_math.h"

#include <float.h>
#include <math.h>

/* The vector at column at of a row; with `fill` after the last class. */
SYN_INLINE lanes part(const float *row, size_t at, size_t classes, float fill)
{
    return classes - at < LANES ? lanes_load_part(row + at, classes - at, fill)
                                : lanes_load(row + at);
}

static float largest(const float *row, size_t classes)
{
    lanes most = lanes_fill(-FLT_MAX);
    for (size_t i = 0; i < classes; i += LANES) {
        lanes x = part(row, i, classes, -FLT_MAX);
        most = lanes_choose(x > most, x, most);
    }
    float result = most[0];
    for (size_t i = 1; i < LANES; i++)
        result = most[i] > result ? most[i] : result;
    return result;
}

/* Sum of e^(x - most); with keep, the exponentials replace the scores. */
SYN_INLINE double exponentials(float *row, size_t classes, float most, const bool keep)
{
    lanes sum = lanes_fill(0);
    for (size_t i = 0; i < classes; i += LANES) {
        lanes e = lanes_exp(part(row, i, classes, -FLT_MAX) - most);
        sum += e;
        if (keep && classes - i < LANES)
            lanes_store_part(row + i, classes - i, e);
        else if (keep)
            lanes_store(row + i, e);
    }
    double total = 0;
    for (size_t i = 0; i < LANES; i++)
        total += (double)sum[i];
    return total;
}

static void scale_row(float *row, size_t classes, float factor)
{
    for (size_t i = 0; i < classes; i++)
        row[i] *= factor;
}

/* Among equal scores the first counts as the guess. */
static bool is_guess(const float *row, size_t label, float most)
{
    for (size_t i = 0; i < label; i++)
        if (row[i] == most)
            return false;
    return row[label] == most;
}

static void run(const struct softmax_rows *shape, float *scores, const int32_t *labels,
                bool gradient, struct softmax_sums *sums)
{
    for (size_t r = 0; r < shape->rows; r++) {
        float *row = scores + r * shape->padded;
        if (labels[r] < 0) {
            if (gradient)
                memset(row, 0, shape->classes * sizeof *row);
            continue;
        }
        size_t label = (size_t)labels[r];
        float most = largest(row, shape->classes);
        float score = row[label];
        sums->correct += score == most && is_guess(row, label, most);
        double total = gradient ? exponentials(row, shape->classes, most, true)
                                : exponentials(row, shape->classes, most, false);
        sums->loss += log(total) - (double)(score - most);
        if (gradient) {
            scale_row(row, shape->classes, (float)((double)shape->scale / total));
            row[label] -= shape->scale;
        }
    }
}

const struct softmax_kernels SYN_KERNEL(syn_softmax) = {run};

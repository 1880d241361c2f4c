/* Layer norm of rows that fit in the first-level cache, so that a pass over one costs little: the
 * mean and the variance have a pass each, because their difference of large sums in a single pass
 * would lose digits. The gradients w.r.t. weight and bias have a loop of their own over channels:
 * the same bits however rows and channels are shared among cores. */
#include "engine/nn/kernels/kernels.h"
#include "engine/nn/kernels/lanes_math.h"

#include <math.h>

#define ROWS_TOGETHER 32 /* rows whose cache lines fit in the first-level cache together */

/* The vector at column at; with `fill` after the last channel. */
SYN_INLINE lanes part(const float *row, size_t at, size_t channels, float fill)
{
    return channels - at < LANES ? lanes_load_part(row + at, channels - at, fill)
                                 : lanes_load(row + at);
}

SYN_INLINE float sum_of(lanes x)
{
    return ((x[0] + x[4]) + (x[1] + x[5])) + ((x[2] + x[6]) + (x[3] + x[7]));
}

static struct layer_norm_moments measure(const struct layer_norm_shape *shape, const float *row)
{
    lanes sum = lanes_fill(0);
    lanes squares = lanes_fill(0);
    for (size_t i = 0; i < shape->channels; i += LANES)
        sum += part(row, i, shape->channels, 0);
    float mean = sum_of(sum) / (float)shape->channels;
    for (size_t i = 0; i < shape->channels; i += LANES) {
        lanes centred = part(row, i, shape->channels, mean) - mean;
        squares += centred * centred;
    }
    float variance = sum_of(squares) / (float)shape->channels;
    return (struct layer_norm_moments){mean, 1.0f / sqrtf(variance + shape->epsilon)};
}

static void forward(const struct layer_norm_shape *shape, const float *x, const float *weight,
                    const float *bias, float *y, struct layer_norm_moments *moments, size_t begin,
                    size_t end)
{
    for (size_t r = begin; r < end; r++) {
        const float *row = x + r * shape->padded;
        struct layer_norm_moments m = measure(shape, row);
        for (size_t i = 0; i < shape->channels; i += LANES) {
            lanes value = (lanes_load(row + i) - m.mean) * m.factor;
            lanes_store(y + r * shape->padded + i, value * part(weight, i, shape->channels, 0) +
                                                       part(bias, i, shape->channels, 0));
        }
        moments[r] = m;
    }
}

/* With g = dy weight and n the normalised row,
 *
 *     dx = factor (g - mean(g) - n mean(g n)) */
SYN_INLINE void data_row(const struct layer_norm_shape *shape, const float *x, const float *weight,
                         const float *dy, struct layer_norm_moments m, const bool accumulate,
                         float *dx)
{
    lanes sum = lanes_fill(0);
    lanes product = lanes_fill(0);
    for (size_t i = 0; i < shape->channels; i += LANES) {
        lanes g = lanes_load(dy + i) * part(weight, i, shape->channels, 0);
        sum += g;
        product += g * ((lanes_load(x + i) - m.mean) * m.factor);
    }
    float mean = sum_of(sum) / (float)shape->channels;
    float along = sum_of(product) / (float)shape->channels;
    for (size_t i = 0; i < shape->channels; i += LANES) {
        lanes n = (part(x, i, shape->channels, m.mean) - m.mean) * m.factor;
        lanes g = lanes_load(dy + i) * part(weight, i, shape->channels, 0);
        lanes d = (g - mean - n * along) * m.factor;
        for (size_t k = shape->channels - i; k < LANES; k++)
            d[k] = 0; /* after the last channel */
        lanes_store(dx + i, accumulate ? lanes_load(dx + i) + d : d);
    }
}

static void data(const struct layer_norm_shape *shape, const float *x, const float *weight,
                 const float *dy, const struct layer_norm_moments *moments, bool accumulate,
                 float *dx, size_t begin, size_t end)
{
    for (size_t r = begin; r < end; r++) {
        size_t at = r * shape->padded;
        if (accumulate)
            data_row(shape, x + at, weight, dy + at, moments[r], true, dx + at);
        else
            data_row(shape, x + at, weight, dy + at, moments[r], false, dx + at);
    }
}

SYN_INLINE void add_part(float *to, size_t count, lanes value)
{
    if (count < LANES)
        lanes_store_part(to, count, lanes_load_part(to, count, 0) + value);
    else
        lanes_store(to, lanes_load(to) + value);
}

static void weights(const struct layer_norm_shape *shape, const float *x, const float *dy,
                    const struct layer_norm_moments *moments, float *dweight, float *dbias,
                    size_t begin, size_t end)
{
    size_t last = end * LANES < shape->channels ? end * LANES : shape->channels;
    if (begin * LANES >= last)
        return;
    memset(dweight + begin * LANES, 0, (last - begin * LANES) * sizeof *dweight);
    memset(dbias + begin * LANES, 0, (last - begin * LANES) * sizeof *dbias);
    for (size_t first = 0; first < shape->rows; first += ROWS_TOGETHER) {
        size_t stop = shape->rows - first < ROWS_TOGETHER ? shape->rows : first + ROWS_TOGETHER;
        for (size_t c = begin * LANES; c < last; c += LANES) {
            lanes sum = lanes_fill(0);
            lanes product = lanes_fill(0);
            for (size_t r = first; r < stop; r++) {
                lanes d = lanes_load(dy + r * shape->padded + c);
                lanes n = lanes_load(x + r * shape->padded + c) - moments[r].mean;
                sum += d;
                product += d * (n * moments[r].factor);
            }
            add_part(dweight + c, last - c, product);
            add_part(dbias + c, last - c, sum);
        }
    }
}

const struct layer_norm_kernels SYN_KERNEL(syn_layer_norm) = {forward, data, weights};

/* Elementwise kernels: memory-bound, so each is one pass. A dropout mask is not stored: it is a
 * hash of key and position, computed again in the backward pass. */
#include "engine/nn/kernels/kernels.h"
#include "engine/nn/kernels/lanes.h"

#define ROWS_TOGETHER 32 /* rows whose cache lines fit in the first-level cache together */

static void relu(const float *x, float *y, size_t count)
{
    for (size_t i = 0; i < count; i += LANES)
        lanes_store(y + i, lanes_relu(lanes_load(x + i)));
}

static void relu_gradient(const float *dy, const float *y, float *dx, size_t count)
{
    for (size_t i = 0; i < count; i += LANES) {
        lane_bits positive = lanes_load(y + i) > 0.0f;
        lanes_store(dx + i, (lanes)((lane_bits)lanes_load(dy + i) & positive));
    }
}

static void add(const float *a, const float *b, float *y, size_t count, bool with_relu)
{
    if (with_relu)
        for (size_t i = 0; i < count; i += LANES)
            lanes_store(y + i, lanes_relu(lanes_load(a + i) + lanes_load(b + i)));
    else
        for (size_t i = 0; i < count; i += LANES)
            lanes_store(y + i, lanes_load(a + i) + lanes_load(b + i));
}

/* A 32-bit integer hash (two rounds of multiply and shift) of key and position. */
SYN_INLINE uint32_t hash(uint32_t key, uint32_t position)
{
    uint32_t h = position * 0x9e3779b9u + key;
    h = (h ^ (h >> 16)) * 0x7feb352du;
    h = (h ^ (h >> 15)) * 0x846ca68bu;
    return h ^ (h >> 16);
}

static void dropout(const struct dropout_mask *mask, size_t first, const float *x, float *y,
                    size_t count)
{
    struct dropout_mask m = *mask;
    for (size_t i = 0; i < count; i++)
        y[i] = hash(m.key, (uint32_t)(first + i)) < m.threshold ? 0.0f : x[i] * m.scale;
}

static void repeat(const float *bias, size_t columns, float *y, size_t rows, size_t padded)
{
    for (size_t row = 0; row < rows; row++) {
        memcpy(y + row * padded, bias, columns * sizeof *y);
        memset(y + row * padded + columns, 0, (padded - columns) * sizeof *y);
    }
}

static void row_sums(const float *dy, size_t rows, size_t channels, float *sums)
{
    for (size_t first = 0; first < rows; first += ROWS_TOGETHER) {
        size_t end = rows - first < ROWS_TOGETHER ? rows : first + ROWS_TOGETHER;
        for (size_t c = 0; c < channels; c += LANES) {
            lanes sum = lanes_fill(0);
            for (size_t row = first; row < end; row++)
                sum += lanes_load(dy + row * channels + c);
            lanes_store(sums + c, lanes_load(sums + c) + sum);
        }
    }
}

static void channel_sums(const float *dy, size_t images, size_t channels, size_t pixels,
                         float *sums)
{
    memset(sums, 0, channels * sizeof *sums);
    if (pixels == 1) {
        row_sums(dy, images, channels, sums);
        return;
    }
    for (size_t n = 0; n < images; n++)
        for (size_t c = 0; c < channels; c += LANES) {
            const float *from = dy + (n * channels + c) * pixels;
            lanes sum = lanes_fill(0);
            for (size_t i = 0; i < pixels; i++)
                sum += lanes_load(from + i * LANES);
            lanes_store(sums + c, lanes_load(sums + c) + sum);
        }
}

const struct elementwise_kernels SYN_KERNEL(syn_elementwise) = {relu,   relu_gradient, add, dropout,
                                                                repeat, channel_sums};

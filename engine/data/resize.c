/* Two passes, along rows and then along columns, each a weighted mean of the pixels under a
 * triangle that is as wide as a new pixel (at least one old one): making pictures smaller must use
 * all pixels, or lines vanish. Weights are fixed-point numbers with 22 fractional bits, and the
 * first pass rounds to bytes, because PIL does so. */
#include "engine/data/resize.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define BITS 22 /* 32, less 8 for the pixel and 2 for the sum */

/* What one new pixel is made of. */
struct taps {
    size_t first;
    size_t count;
};

struct weights {
    size_t most;       /* taps of a pixel at most */
    struct taps *taps; /* [axis.count] */
    int32_t *values;   /* [axis.count][most] */
};

static double triangle(double x)
{
    x = fabs(x);
    return x < 1.0 ? 1.0 - x : 0.0;
}

static double width_of(struct syn_axis axis)
{
    return fmax((double)axis.in / (double)axis.out, 1.0);
}

static size_t most_taps(struct syn_axis axis)
{
    return (size_t)ceil(width_of(axis)) * 2 + 1;
}

static size_t bytes_of(struct syn_axis axis)
{
    return axis.count * (sizeof(struct taps) + most_taps(axis) * sizeof(int32_t)) +
           most_taps(axis) * sizeof(double) + 64;
}

/* The weights of one new pixel, in the order of PIL's arithmetic. */
static void weigh(struct syn_axis axis, size_t number, double *room, struct taps *taps,
                  int32_t *values)
{
    const double scale = (double)axis.in / (double)axis.out;
    const double support = width_of(axis);
    const double centre = ((double)number + 0.5) * scale;
    const double inverse = 1.0 / support;
    double low = centre - support + 0.5;
    size_t first = low > 0 ? (size_t)low : 0;
    size_t end = (size_t)(centre + support + 0.5);
    if (end > axis.in)
        end = axis.in;
    double sum = 0;
    *taps = (struct taps){first, end - first};
    for (size_t i = 0; i < taps->count; i++) {
        room[i] = triangle(((double)(i + first) - centre + 0.5) * inverse);
        sum += room[i];
    }
    for (size_t i = 0; i < taps->count; i++) {
        double share = sum != 0.0 ? room[i] * (1.0 / sum) : room[i];
        values[i] = (int32_t)(0.5 + share * (1 << BITS));
    }
}

static void make_weights(struct syn_axis axis, uint8_t *memory, struct weights *weights)
{
    weights->most = most_taps(axis);
    double *room = (double *)memory;
    weights->taps = (struct taps *)(room + weights->most);
    weights->values = (int32_t *)(weights->taps + axis.count);
    for (size_t i = 0; i < axis.count; i++)
        weigh(axis, axis.first + i, room, &weights->taps[i], weights->values + i * weights->most);
}

static uint8_t to_byte(int32_t sum)
{
    int32_t value = sum >> BITS;
    return (uint8_t)(value < 0 ? 0 : value > 255 ? 255 : value);
}

static void pass_row(const struct weights *weights, size_t count, const uint8_t *from, uint8_t *to)
{
    for (size_t i = 0; i < count; i++) {
        const struct taps taps = weights->taps[i];
        const int32_t *w = weights->values + i * weights->most;
        const uint8_t *at = from + 3 * taps.first;
        int32_t red = 1 << (BITS - 1);
        int32_t green = red;
        int32_t blue = red;
        for (size_t k = 0; k < taps.count; k++) {
            red += at[3 * k] * w[k];
            green += at[3 * k + 1] * w[k];
            blue += at[3 * k + 2] * w[k];
        }
        to[3 * i] = to_byte(red);
        to[3 * i + 1] = to_byte(green);
        to[3 * i + 2] = to_byte(blue);
    }
}

/* A new row: the weighted mean of rows, `bytes` long, `taps.count` of them. */
static void pass_column(struct taps taps, const int32_t *w, const uint8_t *rows, size_t bytes,
                        uint8_t *to)
{
    enum { PIECE = 256 };
    for (size_t begin = 0; begin < bytes; begin += PIECE) {
        int32_t sums[PIECE];
        size_t count = bytes - begin < PIECE ? bytes - begin : PIECE;
        for (size_t i = 0; i < count; i++)
            sums[i] = 1 << (BITS - 1);
        for (size_t k = 0; k < taps.count; k++) {
            const uint8_t *row = rows + (taps.first + k) * bytes + begin;
            for (size_t i = 0; i < count; i++)
                sums[i] += row[i] * w[k];
        }
        for (size_t i = 0; i < count; i++)
            to[begin + i] = to_byte(sums[i]);
    }
}

static bool grow(void *memory, size_t *has, size_t bytes)
{
    void **block = memory;
    if (bytes <= *has)
        return true;
    void *grown = realloc(*block, bytes);
    if (!grown)
        return false;
    *block = grown;
    *has = bytes;
    return true;
}

bool syn_resize(struct syn_resizer *resizer, const uint8_t *from, size_t stride, struct syn_axis x,
                struct syn_axis y, uint8_t *to)
{
    const size_t half = (bytes_of(x) + 63) / 64 * 64;
    const size_t bytes = 3 * x.count;
    struct weights across;
    struct weights down;
    if (!grow(&resizer->weights, &resizer->weights_bytes, half + bytes_of(y)))
        return false;
    make_weights(x, resizer->weights, &across);
    make_weights(y, (uint8_t *)resizer->weights + half, &down);
    /* Old rows that the wanted new ones are made of. */
    const size_t top = down.taps[0].first;
    const struct taps last = down.taps[y.count - 1];
    const size_t rows = last.first + last.count - top;
    if (!grow(&resizer->rows, &resizer->rows_bytes, rows * bytes))
        return false;
    for (size_t i = 0; i < rows; i++) {
        const uint8_t *row = from + (top + i) * stride;
        if (x.in == x.out)
            memcpy(resizer->rows + i * bytes, row + 3 * x.first, bytes);
        else
            pass_row(&across, x.count, row, resizer->rows + i * bytes);
    }
    for (size_t i = 0; i < y.count; i++) {
        struct taps taps = {down.taps[i].first - top, down.taps[i].count};
        if (y.in == y.out)
            memcpy(to + i * bytes, resizer->rows + taps.first * bytes, bytes);
        else
            pass_column(taps, down.values + i * down.most, resizer->rows, bytes, to + i * bytes);
    }
    return true;
}

void syn_resizer_free(struct syn_resizer *resizer)
{
    free(resizer->weights);
    free(resizer->rows);
    *resizer = (struct syn_resizer){0};
}

/* Causal attention as products of panels. One head's matrices are small (64 time steps of 32
 * values) and far apart in memory, so they are copied to where the product kernel reads them fast,
 * and everything about a head is done while it is in the cache. Only what is on or below the
 * diagonal of the scores is computed, which halves the work; a general matrix product cannot know
 * that. With P the shares, scores S = q k' / sqrt(width):
 *
 *     y = P v           dv = P' dy      dP = dy v'
 *     dS = P (dP - sum over a row of P dP)
 *     dq = dS k / sqrt(width)           dk = dS' q / sqrt(width) */
#include "engine/nn/kernels/kernels.h"
#include "engine/nn/kernels/lanes_math.h"
#include "engine/nn/kernels/product.h"

#include <float.h>
#include <math.h>

#define BLOCK 12 /* rows that share the bounds of their depth: two or one of the product's */

/* Copy [time][width] from rows that are far apart, times factor. */
static void copy_rows(const struct attention_shape *shape, const float *from, size_t row,
                      float factor, float *to)
{
    for (size_t t = 0; t < shape->time; t++)
        for (size_t c = 0; c < shape->width; c += LANES)
            lanes_store(to + t * shape->width + c, lanes_load(from + t * row + c) * factor);
}

/* The same in panels of columns, as the right factor of a product over time. */
static void pack_rows(const struct attention_shape *shape, const float *from, size_t row,
                      float factor, float *to)
{
    for (size_t at = 0; at < shape->width;) {
        size_t columns = panel_width(shape->width, at);
        for (size_t t = 0; t < shape->time; t++, to += columns)
            for (size_t c = 0; c < columns; c += LANES)
                lanes_store(to + c, lanes_load(from + t * row + at + c) * factor);
        at += columns;
    }
}

/* Transposed, in panels of time steps, as the right factor of a product over the width. After the
 * last time step: zeros. */
static void pack_columns(const struct attention_shape *shape, const float *from, size_t row,
                         float *to)
{
    size_t padded = attention_padded(shape);
    for (size_t at = 0; at < padded;) {
        size_t columns = panel_width(padded, at);
        for (size_t c = 0; c < columns; c++)
            for (size_t d = 0; d < shape->width; d++)
                to[d * columns + c] = at + c < shape->time ? from[(at + c) * row + d] : 0.0f;
        to += columns * shape->width;
        at += columns;
    }
}

/* c [time][padded time] = a b' on and below the diagonal, and a little above it.
 *   a       [time][width]
 *   packed  b by pack_columns() */
static void multiply_to_scores(const struct attention_shape *shape, const float *a,
                               const float *packed, float *c)
{
    size_t padded = attention_padded(shape);
    for (size_t at = 0; at < shape->time;) {
        size_t columns = panel_width(padded, at);
        struct product product = {.a = a + at * shape->width,
                                  .a_row = shape->width,
                                  .a_depth = 1,
                                  .depth = shape->width,
                                  .blocks = 1,
                                  .b = packed + at * shape->width,
                                  .c = c + at * padded + at,
                                  .c_row = padded,
                                  .c_eight = LANES};
        multiply(&product, shape->time - at, columns);
        at += columns;
    }
}

/* c = s b, or with transposed s' b, where s [time][padded time] is zero above the diagonal.
 *   packed  b by pack_rows()
 *   c       rows as far apart as row says */
static void multiply_by_scores(const struct attention_shape *shape, const float *s,
                               const bool transposed, const float *packed, float *c, size_t row)
{
    size_t padded = attention_padded(shape);
    for (size_t first = 0; first < shape->time; first += BLOCK) {
        size_t rows = shape->time - first < BLOCK ? shape->time - first : BLOCK;
        size_t from = transposed ? first : 0;
        size_t to = transposed ? shape->time : first + rows;
        for (size_t at = 0; at < shape->width;) {
            size_t columns = panel_width(shape->width, at);
            struct product product = {.a =
                                          s + (transposed ? from * padded + first : first * padded),
                                      .a_row = transposed ? 1 : padded,
                                      .a_depth = transposed ? padded : 1,
                                      .depth = to - from,
                                      .blocks = 1,
                                      .b = packed + at * shape->time + from * columns,
                                      .c = c + first * row + at,
                                      .c_row = row,
                                      .c_eight = LANES};
            multiply(&product, rows, columns);
            at += columns;
        }
    }
}

/* The vector at column at of row t, with `fill` above the diagonal. */
SYN_INLINE lanes below_diagonal(const float *row, size_t at, size_t t, float fill)
{
    const lane_bits number = {0, 1, 2, 3, 4, 5, 6, 7};
    lanes value = lanes_load(row + at);
    if (at + LANES <= t + 1)
        return value;
    return lanes_choose(number > (int32_t)(t - at), lanes_fill(fill), value);
}

/* Softmax of the first t + 1 scores of a row; the others become zero. */
static void soften(float *row, size_t t, size_t padded)
{
    lanes most = lanes_fill(-FLT_MAX);
    size_t at;
    for (at = 0; at <= t; at += LANES) {
        lanes x = below_diagonal(row, at, t, -FLT_MAX);
        most = lanes_choose(x > most, x, most);
    }
    float largest = most[0];
    for (size_t i = 1; i < LANES; i++)
        largest = most[i] > largest ? most[i] : largest;
    lanes sum = lanes_fill(0);
    for (at = 0; at <= t; at += LANES) {
        lanes e = lanes_exp(below_diagonal(row, at, t, -FLT_MAX) - largest);
        lanes_store(row + at, e);
        sum += e;
    }
    float total = 0;
    for (size_t i = 0; i < LANES; i++)
        total += sum[i];
    float factor = 1.0f / total;
    for (at = 0; at <= t; at += LANES)
        lanes_store(row + at, lanes_load(row + at) * factor);
    for (; at < padded; at += LANES)
        lanes_store(row + at, lanes_fill(0));
}

/* From the gradient w.r.t. the shares of row t to that w.r.t. its scores. */
static void harden(const float *shares, float *gradient, size_t t, size_t padded)
{
    lanes sum = lanes_fill(0);
    size_t at;
    for (at = 0; at <= t; at += LANES)
        sum += lanes_load(shares + at) * below_diagonal(gradient, at, t, 0);
    float total = 0;
    for (size_t i = 0; i < LANES; i++)
        total += sum[i];
    for (at = 0; at <= t; at += LANES)
        lanes_store(gradient + at,
                    lanes_load(shares + at) * (below_diagonal(gradient, at, t, 0) - total));
    for (; at < padded; at += LANES)
        lanes_store(gradient + at, lanes_fill(0));
}

static float scale_of(const struct attention_shape *shape)
{
    return 1.0f / sqrtf((float)shape->width);
}

static void forward(const struct attention_shape *shape, const struct attention_head *head)
{
    size_t padded = attention_padded(shape);
    float *rows = head->work;
    float *packed = rows + padded * shape->width;
    copy_rows(shape, head->q, shape->input_row, scale_of(shape), rows);
    pack_columns(shape, head->k, shape->input_row, packed);
    multiply_to_scores(shape, rows, packed, head->shares);
    for (size_t t = 0; t < shape->time; t++)
        soften(head->shares + t * padded, t, padded);
    pack_rows(shape, head->v, shape->input_row, 1, packed);
    multiply_by_scores(shape, head->shares, false, packed, head->y, shape->row);
}

static void backward(const struct attention_shape *shape, const struct attention_head *head)
{
    size_t padded = attention_padded(shape);
    float *rows = head->work;
    float *packed = rows + padded * shape->width;
    float *gradient = packed + padded * shape->width; /* w.r.t. shares, then scores */
    copy_rows(shape, head->dy, shape->row, 1, rows);
    pack_rows(shape, rows, shape->width, 1, packed);
    multiply_by_scores(shape, head->shares, true, packed, head->dv, shape->input_row);
    pack_columns(shape, head->v, shape->input_row, packed);
    multiply_to_scores(shape, rows, packed, gradient);
    for (size_t t = 0; t < shape->time; t++)
        harden(head->shares + t * padded, gradient + t * padded, t, padded);
    pack_rows(shape, head->k, shape->input_row, scale_of(shape), packed);
    multiply_by_scores(shape, gradient, false, packed, head->dq, shape->input_row);
    pack_rows(shape, head->q, shape->input_row, scale_of(shape), packed);
    multiply_by_scores(shape, gradient, true, packed, head->dk, shape->input_row);
}

const struct attention_kernels SYN_KERNEL(syn_attention) = {forward, backward};

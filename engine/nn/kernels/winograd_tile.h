/* Converting tiles between images and the points of a block of tiles. Points are arrays
 * [position][tile][channel], the channels of a tile either as one row (the left factor of a
 * product) or split into panels (the right one, and the result). */
#ifndef SYN_NN_KERNELS_WINOGRAD_TILE_H
#define SYN_NN_KERNELS_WINOGRAD_TILE_H

#include "engine/nn/kernels/kernels.h"
#include "engine/nn/kernels/product.h"
#include "engine/nn/kernels/winograd_points.h"

/* The eight channels from number c on of tile number at, in panels. */
static inline size_t panel_offset(size_t channels, size_t block, size_t at, size_t c)
{
    size_t panel = panel_start(channels, c);
    return panel * block + at * panel_width(channels, panel) + (c - panel);
}

/* Where the inputs of a tile are in one channel block of an image. */
struct window {
    size_t top; /* first row of the image it covers */
    size_t left;
    size_t skip_rows; /* rows of the tile above the image */
    size_t skip_columns;
    size_t rows; /* the image ends before this row of the tile */
    size_t columns;
};

static inline size_t least(size_t a, size_t b)
{
    return a < b ? a : b;
}

/* The part of [at - padding, at - padding + length) that is in [0, size). */
static inline void cover(size_t at, size_t padding, size_t length, size_t size, size_t *first,
                         size_t *skip, size_t *stop)
{
    *skip = at < padding ? padding - at : 0;
    *first = at < padding ? 0 : at - padding;
    *stop = size + padding > at ? least(length, size + padding - at) : 0;
}

SYN_INLINE struct window find_window(const struct winograd_shape *s, size_t number,
                                     const size_t side, const size_t tile)
{
    size_t across = (s->out_width + side - 1) / side;
    size_t place = number % s->tiles;
    struct window w;
    cover(place / across * side, s->padding, tile, s->height, &w.top, &w.skip_rows, &w.rows);
    cover(place % across * side, s->padding, tile, s->width, &w.left, &w.skip_columns, &w.columns);
    return w;
}

/* The first value of a window in channel block c of its image. */
static inline size_t window_offset(const struct winograd_shape *s, const struct window *w,
                                   size_t number, size_t c)
{
    return (number / s->tiles * s->inputs + c) * s->height * s->width +
           (w->top * s->width + w->left) * LANES;
}

SYN_INLINE void transform_inner_tile(const float *image, size_t width, float *to, size_t position,
                                     const size_t tile)
{
    lanes half[TILE][TILE];
    for (size_t c = 0; c < tile; c++) {
        lanes d[TILE];
        lanes o[TILE];
        for (size_t r = 0; r < tile; r++)
            d[r] = lanes_load(image + (r * width + c) * LANES);
        input_points(d, o, tile);
        for (size_t r = 0; r < tile; r++)
            half[r][c] = o[r];
    }
    for (size_t r = 0; r < tile; r++) {
        lanes o[TILE];
        input_points(half[r], o, tile);
        for (size_t c = 0; c < tile; c++)
            lanes_store(to + (r * tile + c) * position, o[c]);
    }
}

SYN_INLINE void transform_border_tile(const float *image, size_t width, const struct window *window,
                                      float *to, size_t position, const size_t tile)
{
    float values[TILE * TILE * LANES] = {0};
    for (size_t r = window->skip_rows; r < window->rows; r++) {
        const float *row = image + (r - window->skip_rows) * width * LANES;
        for (size_t c = window->skip_columns; c < window->columns; c++)
            lanes_store(values + (r * tile + c) * LANES,
                        lanes_load(row + (c - window->skip_columns) * LANES));
    }
    transform_inner_tile(values, tile, to, position, tile);
}

/* Transform the inputs of a tile to points in rows. */
SYN_INLINE void transform_input(const struct winograd_shape *s, const float *x, size_t number,
                                float *to, const size_t side, const size_t tile)
{
    struct window w = find_window(s, number, side, tile);
    bool inside = w.skip_rows + w.skip_columns == 0 && w.rows + w.columns == 2 * tile;
    size_t position = winograd_rows(s->inputs, s->block);
    for (size_t c = 0; c < s->inputs; c += LANES) {
        const float *from = x + window_offset(s, &w, number, c);
        if (inside)
            transform_inner_tile(from, s->width, to + c, position, tile);
        else
            transform_border_tile(from, s->width, &w, to + c, position, tile);
    }
}

/* Transform points in panels to the inputs of a tile, adding to existing values: tiles overlap. */
SYN_INLINE void restore_input(const struct winograd_shape *s, const float *points, size_t number,
                              size_t at, float *dx, const size_t side, const size_t tile)
{
    struct window w = find_window(s, number, side, tile);
    size_t position = winograd_panels(s->inputs, s->block);
    for (size_t channel = 0; channel < s->inputs; channel += LANES) {
        const float *from = points + panel_offset(s->inputs, s->block, at, channel);
        float *to = dx + window_offset(s, &w, number, channel);
        lanes half[TILE][TILE];
        for (size_t c = 0; c < tile; c++) {
            lanes p[TILE];
            lanes d[TILE];
            for (size_t r = 0; r < tile; r++)
                p[r] = lanes_load(from + (r * tile + c) * position);
            input_values(p, d, tile);
            for (size_t r = 0; r < tile; r++)
                half[r][c] = d[r];
        }
        for (size_t r = w.skip_rows; r < w.rows; r++) {
            lanes d[TILE];
            input_values(half[r], d, tile);
            float *row = to + (r - w.skip_rows) * s->width * LANES;
            for (size_t c = w.skip_columns; c < w.columns; c++) {
                float *there = row + (c - w.skip_columns) * LANES;
                lanes_store(there, lanes_load(there) + d[c]);
            }
        }
    }
}

/* Where the outputs of a tile are in one channel block of an image. */
struct patch {
    size_t offset; /* of the first one, in floats from the image's first channel block */
    size_t rows;
    size_t columns;
};

SYN_INLINE struct patch find_patch(const struct winograd_shape *s, size_t number, const size_t side)
{
    size_t across = (s->out_width + side - 1) / side;
    size_t place = number % s->tiles;
    size_t top = place / across * side;
    size_t left = place % across * side;
    size_t image = number / s->tiles * s->outputs * s->out_height * s->out_width;
    return (struct patch){image + (top * s->out_width + left) * LANES,
                          least(side, s->out_height - top), least(side, s->out_width - left)};
}

/* Transform points in panels to the outputs of a tile. */
SYN_INLINE void restore_output(const struct winograd_shape *s, const float *points, size_t number,
                               size_t at, const float *bias, bool relu, float *y, const size_t side,
                               const size_t tile)
{
    struct patch patch = find_patch(s, number, side);
    size_t position = winograd_panels(s->outputs, s->block);
    for (size_t channel = 0; channel < s->outputs; channel += LANES) {
        const float *from = points + panel_offset(s->outputs, s->block, at, channel);
        float *to = y + patch.offset + channel * s->out_height * s->out_width;
        lanes added = bias ? lanes_load(bias + channel) : lanes_fill(0);
        lanes half[4][TILE];
        for (size_t c = 0; c < tile; c++) {
            lanes p[TILE];
            lanes o[4];
            for (size_t r = 0; r < tile; r++)
                p[r] = lanes_load(from + (r * tile + c) * position);
            output_values(p, o, side, tile);
            for (size_t r = 0; r < side; r++)
                half[r][c] = o[r];
        }
        for (size_t r = 0; r < patch.rows; r++) {
            lanes o[4];
            output_values(half[r], o, side, tile);
            float *row = to + r * s->out_width * LANES;
            for (size_t c = 0; c < patch.columns; c++)
                lanes_store(row + c * LANES, relu ? lanes_relu(o[c] + added) : o[c] + added);
        }
    }
}

/* Transform the outputs of a tile to points, in rows or in panels. */
SYN_INLINE void transform_output(const struct winograd_shape *s, const float *dy, size_t number,
                                 size_t at, float *points, const bool in_rows, const size_t side,
                                 const size_t tile)
{
    struct patch patch = find_patch(s, number, side);
    size_t position =
        in_rows ? winograd_rows(s->outputs, s->block) : winograd_panels(s->outputs, s->block);
    for (size_t channel = 0; channel < s->outputs; channel += LANES) {
        const float *from = dy + patch.offset + channel * s->out_height * s->out_width;
        float *to = points + (in_rows ? at * winograd_row(s->outputs) + channel
                                      : panel_offset(s->outputs, s->block, at, channel));
        lanes half[TILE][4];
        for (size_t c = 0; c < side; c++) {
            lanes y[4];
            lanes o[TILE];
            for (size_t r = 0; r < side; r++)
                y[r] = r < patch.rows && c < patch.columns
                           ? lanes_load(from + (r * s->out_width + c) * LANES)
                           : lanes_fill(0);
            output_points(y, o, side, tile);
            for (size_t r = 0; r < tile; r++)
                half[r][c] = o[r];
        }
        for (size_t r = 0; r < tile; r++) {
            lanes o[TILE];
            output_points(half[r], o, side, tile);
            for (size_t c = 0; c < tile; c++)
                lanes_store(to + (r * tile + c) * position, o[c]);
        }
    }
}

#endif

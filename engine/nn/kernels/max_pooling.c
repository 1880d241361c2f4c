/* The maximum of windows, eight channels at a time, and its index in the window. Of equal values
 * the first is taken, and NaN takes precedence over all numbers, as in PyTorch.
 *
 * The gradient is summed one plane at a time; a plane fits in the first- or second-level cache. */
#include "engine/nn/kernels/kernels.h"
#include "engine/nn/kernels/lanes.h"

typedef uint16_t lane_places __attribute__((vector_size(LANES * sizeof(uint16_t))));

/* The taps [first, end) of a window that are inside the image, along one axis. */
struct taps {
    size_t first;
    size_t end;
};

SYN_INLINE struct taps taps_of(const struct max_pooling_shape *s, size_t output, size_t size)
{
    size_t begin = output * s->stride; /* counted from the padding's edge */
    size_t inside = size + s->padding - begin;
    return (struct taps){.first = begin < s->padding ? s->padding - begin : 0,
                         .end = inside < s->kernel ? inside : s->kernel};
}

/* A window: its first tap inside the image, and which others are inside. */
struct window {
    struct taps rows;
    struct taps columns;
    size_t at; /* floats from the plane's first value to the first tap inside */
};

SYN_INLINE struct window window_of(const struct max_pooling_shape *s, size_t row, size_t column)
{
    struct window w = {taps_of(s, row, s->height), taps_of(s, column, s->width), 0};
    size_t y = row * s->stride + w.rows.first - s->padding;
    size_t x = column * s->stride + w.columns.first - s->padding;
    w.at = (y * s->width + x) * LANES;
    return w;
}

/* A window that is entirely inside. For common sizes, passed as a constant, the code has no
 * loops. */
SYN_INLINE struct window whole(size_t at, const size_t kernel)
{
    return (struct window){{0, kernel}, {0, kernel}, at};
}

SYN_INLINE bool is_whole(const struct window *w, size_t kernel)
{
    return w->rows.end - w->rows.first == kernel && w->columns.end - w->columns.first == kernel;
}

SYN_INLINE void take(const struct window *w, const size_t kernel, const size_t width,
                     const float *x, float *y, uint16_t *chosen)
{
    const float *first = x + w->at;
    lanes most = lanes_load(first);
    int32_t tap = (int32_t)(w->rows.first * kernel + w->columns.first);
    lane_bits which = {tap, tap, tap, tap, tap, tap, tap, tap};
    for (size_t r = w->rows.first; r < w->rows.end; r++, first += width * LANES) {
        const float *from = first;
        for (size_t c = w->columns.first; c < w->columns.end; c++, from += LANES) {
            lanes value = lanes_load(from);
            lane_bits better = (value > most) | lanes_nan(value);
            tap = (int32_t)(r * kernel + c);
            most = (lanes)(((lane_bits)value & better) | ((lane_bits)most & ~better));
            which = (tap & better) | (which & ~better);
        }
    }
    lanes_store(y, most);
    if (chosen) {
        lane_places places = __builtin_convertvector(which, lane_places);
        memcpy(chosen, &places, sizeof places);
    }
}

SYN_INLINE void give(const struct window *w, const size_t kernel, const size_t width, lanes dy,
                     lane_bits chosen, float *dx)
{
    float *first = dx + w->at;
    for (size_t r = w->rows.first; r < w->rows.end; r++, first += width * LANES) {
        float *to = first;
        for (size_t c = w->columns.first; c < w->columns.end; c++, to += LANES) {
            lane_bits is_it = chosen == (int32_t)(r * kernel + c);
            lanes_store(to, lanes_load(to) + (lanes)((lane_bits)dy & is_it));
        }
    }
}

static void forward(const struct max_pooling_shape *s, const float *x, float *y, uint16_t *chosen,
                    size_t planes)
{
    for (size_t plane = 0; plane < planes; plane++, x += s->height * s->width * LANES)
        for (size_t row = 0; row < s->out_height; row++)
            for (size_t column = 0; column < s->out_width; column++) {
                const struct window w = window_of(s, row, column);
                const struct window two = whole(w.at, 2);
                const struct window three = whole(w.at, 3);
                if (s->kernel == 2 && is_whole(&w, 2))
                    take(&two, 2, s->width, x, y, chosen);
                else if (s->kernel == 3 && is_whole(&w, 3))
                    take(&three, 3, s->width, x, y, chosen);
                else
                    take(&w, s->kernel, s->width, x, y, chosen);
                y += LANES;
                chosen += chosen ? LANES : 0;
            }
}

static void gradient(const struct max_pooling_shape *s, const float *dy, const uint16_t *chosen,
                     float *dx, size_t planes)
{
    size_t plane_floats = s->height * s->width * LANES;
    for (size_t plane = 0; plane < planes; plane++, dx += plane_floats) {
        memset(dx, 0, plane_floats * sizeof *dx);
        for (size_t row = 0; row < s->out_height; row++)
            for (size_t column = 0; column < s->out_width; column++) {
                const struct window w = window_of(s, row, column);
                const struct window two = whole(w.at, 2);
                const struct window three = whole(w.at, 3);
                lane_places places;
                memcpy(&places, chosen, sizeof places);
                lane_bits which = __builtin_convertvector(places, lane_bits);
                if (s->kernel == 2 && is_whole(&w, 2))
                    give(&two, 2, s->width, lanes_load(dy), which, dx);
                else if (s->kernel == 3 && is_whole(&w, 3))
                    give(&three, 3, s->width, lanes_load(dy), which, dx);
                else
                    give(&w, s->kernel, s->width, lanes_load(dy), which, dx);
                dy += LANES;
                chosen += LANES;
            }
    }
}

const struct max_pooling_kernels SYN_KERNEL(syn_max_pooling) = {forward, gradient};

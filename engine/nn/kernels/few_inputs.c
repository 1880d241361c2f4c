/* The gradient w.r.t. the filters of a first layer, which has one or a few input channels:
 *
 *     dw[k][c][r][s] = sum over y, x of dy[k][y][x] in[c][y * stride + r][x * stride + s]
 *
 * Eight or sixteen outputs k fill one or two vectors, and several taps s of a row r are summed
 * together, each with its own value of the image: nothing is padded to eight input channels, as
 * oneDNN would require. */
#include "engine/nn/kernels/kernels.h"
#include "engine/nn/kernels/lanes.h"

#define MOST_TAPS 5

struct row_sums {
    const struct few_inputs_shape *shape;
    const float *image; /* starts at the first tap's first value */
    const float *dy;    /* of the first eight outputs */
    float *to;          /* [tap][8] of the first eight outputs */
};

SYN_INLINE void add_taps(const struct row_sums *r, const size_t taps, const size_t vectors)
{
    const struct few_inputs_shape *s = r->shape;
    const size_t block = s->out_height * s->out_width * LANES;
    const size_t filters = s->inputs * s->kernel * s->kernel * LANES;
    lanes sums[MOST_TAPS][2];
    for (size_t t = 0; t < taps; t++)
        for (size_t j = 0; j < vectors; j++)
            sums[t][j] = lanes_load(r->to + j * filters + t * LANES);
    for (size_t y = 0; y < s->out_height; y++) {
        const float *image = r->image + y * s->stride * s->width;
        const float *dy = r->dy + y * s->out_width * LANES;
        for (size_t x = 0; x < s->out_width; x++) {
            lanes d[2];
            for (size_t j = 0; j < vectors; j++)
                d[j] = lanes_load(dy + j * block + x * LANES);
            for (size_t t = 0; t < taps; t++)
                for (size_t j = 0; j < vectors; j++)
                    sums[t][j] += lanes_fill(image[x * s->stride + t]) * d[j];
        }
    }
    for (size_t t = 0; t < taps; t++)
        for (size_t j = 0; j < vectors; j++)
            lanes_store(r->to + j * filters + t * LANES, sums[t][j]);
}

SYN_INLINE void add_some_taps(const struct row_sums *r, size_t taps, const size_t vectors)
{
    switch (taps) {
    case 1:
        add_taps(r, 1, vectors);
        break;
    case 2:
        add_taps(r, 2, vectors);
        break;
    case 3:
        add_taps(r, 3, vectors);
        break;
    case 4:
        add_taps(r, 4, vectors);
        break;
    default:
        add_taps(r, MOST_TAPS, vectors);
        break;
    }
}

/* One row of taps of one input channel. */
static void add_row(const struct few_inputs_shape *s, struct row_sums r, size_t vectors)
{
    for (size_t left = s->kernel; left > 0;) {
        /* 11 taps are split into 4, 4, 3 rather than 5, 5, 1. */
        size_t rounds = (left + MOST_TAPS - 1) / MOST_TAPS;
        size_t taps = (left + rounds - 1) / rounds;
        if (vectors == 2)
            add_some_taps(&r, taps, 2);
        else
            add_some_taps(&r, taps, 1);
        r.image += taps;
        r.to += taps * LANES;
        left -= taps;
    }
}

static void gradient(const struct few_inputs_shape *s, const float *image, const float *dy,
                     float *sums)
{
    size_t plane = s->height * s->width;
    size_t filters = s->inputs * s->kernel * s->kernel;
    for (size_t k = 0; k < s->outputs; k += 2 * LANES)
        for (size_t c = 0; c < s->inputs; c++)
            for (size_t row = 0; row < s->kernel; row++) {
                struct row_sums r = {
                    s, image + c * plane + row * s->width, dy + k * s->out_height * s->out_width,
                    sums + k * filters + (c * s->kernel + row) * s->kernel * LANES};
                add_row(s, r, s->outputs - k < 2 * LANES ? 1 : 2);
            }
}

const struct few_inputs_kernels SYN_KERNEL(syn_few_inputs) = {gradient};

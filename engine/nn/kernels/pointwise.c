/* 1x1 convolution: products of [pixels][inputs] by [inputs][outputs], read and written in place, in
 * blocks of eight channels. Pixels are processed in groups and channels in parts of DEPTH, so that
 * a group's part stays in the second-level cache while all panels of the filter are applied, and a
 * panel stays in the first-level cache for all pixels of the group. */
#include "engine/nn/kernels/kernels.h"
#include "engine/nn/kernels/product.h"

#define DEPTH 256 /* input channels at a time */

/* Pixels that are multiplied together: some of an image, or all of several small ones. */
struct group {
    size_t image;
    size_t images;
    size_t pixel;
    size_t pixels; /* of each image */
};

static size_t least(size_t a, size_t b)
{
    return a < b ? a : b;
}

static struct group find_group(const struct pointwise_shape *s, size_t number)
{
    size_t parts = pointwise_parts(s);
    if (parts == 1) {
        size_t images = pointwise_images(s);
        size_t first = number * images;
        return (struct group){first, least(images, s->images - first), 0, s->pixels};
    }
    size_t part = number % parts;
    size_t first = s->pixels * part / parts;
    return (struct group){number / parts, 1, first, s->pixels * (part + 1) / parts - first};
}

static size_t padded(size_t channels)
{
    return (channels + LANES - 1) / LANES * LANES;
}

/* Eight outputs of all inputs, zeros for padding channels. */
static void pack_eight(const struct pointwise_filter *f, const float *plain, size_t output,
                       float *to, size_t width)
{
    size_t count = least(LANES, f->outputs - output);
    for (size_t i = 0; i < padded(f->inputs); i++) {
        const float *from = plain + output * f->output_stride + i * f->input_stride;
        size_t present = i < f->inputs ? count : 0;
        for (size_t k = 0; k < present; k++)
            to[i * width + k] = from[k * f->output_stride];
        for (size_t k = present; k < LANES; k++)
            to[i * width + k] = 0;
    }
}

static void pack(const struct pointwise_filter *f, const float *plain, float *packed, size_t begin,
                 size_t end)
{
    size_t inputs = padded(f->inputs);
    size_t outputs = padded(f->outputs);
    for (size_t k = begin * LANES; k < end * LANES; k += LANES) {
        size_t panel = panel_start(outputs, k);
        pack_eight(f, plain, k, packed + panel * inputs + (k - panel), panel_width(outputs, panel));
    }
}

/* Compute a panel of outputs of a group, from inputs [first, first + depth). */
static void multiply_group(const struct pointwise_pass *pass, const struct group *g, size_t first,
                           size_t depth, size_t panel, size_t columns)
{
    const struct pointwise_shape *s = &pass->shape;
    struct product p = {
        .a_row = LANES,
        .a_depth = 1,
        .a_block = s->pixels * LANES,
        .depth = LANES,
        .blocks = depth / LANES,
        .b = pass->filter + panel * s->inputs + first * columns,
        .c_row = LANES,
        .c_eight = s->pixels * LANES,
        .start = first == 0 && pass->bias ? pass->bias + panel : NULL,
        .accumulate = first > 0 || pass->accumulate,
        .relu = pass->relu && first + depth == s->inputs,
    };
    for (size_t i = g->image; i < g->image + g->images; i++) {
        p.a = pass->x + (i * s->inputs + first) * s->pixels + g->pixel * LANES;
        p.c = pass->y + (i * s->outputs + panel) * s->pixels + g->pixel * LANES;
        multiply(&p, g->pixels, columns);
    }
}

static void forward(const struct pointwise_pass *pass, size_t begin, size_t end)
{
    const struct pointwise_shape *s = &pass->shape;
    for (size_t number = begin; number < end; number++) {
        struct group g = find_group(s, number);
        for (size_t first = 0; first < s->inputs; first += DEPTH)
            for (size_t panel = 0, columns; panel < s->outputs; panel += columns) {
                columns = panel_width(s->outputs, panel);
                multiply_group(pass, &g, first, least(DEPTH, s->inputs - first), panel, columns);
            }
    }
}

/* Copy a panel of dy of a group to [pixel][columns]. */
static void collect(const struct pointwise_shape *s, const struct group *g, const float *dy,
                    size_t panel, size_t columns, float *to)
{
    for (size_t i = g->image; i < g->image + g->images; i++, to += g->pixels * columns)
        for (size_t k = 0; k < columns; k += LANES) {
            const float *from = dy + (i * s->outputs + panel + k) * s->pixels + g->pixel * LANES;
            for (size_t at = 0; at < g->pixels; at++)
                lanes_store(to + at * columns + k, lanes_load(from + at * LANES));
        }
}

/* Reorder sums [outputs / PANEL][inputs][PANEL] of eight inputs to [output][input]. */
static void restore(const struct pointwise_filter *f, const float *sums, size_t input, float *plain)
{
    size_t inputs = padded(f->inputs);
    size_t outputs = padded(f->outputs);
    size_t count = least(LANES, f->inputs - input);
    for (size_t k = 0; k < f->outputs; k++) {
        size_t panel = panel_start(outputs, k);
        size_t width = panel_width(outputs, panel);
        const float *from = sums + panel * inputs + input * width + (k - panel);
        for (size_t i = 0; i < count; i++)
            plain[k * f->output_stride + (input + i) * f->input_stride] = from[i * width];
    }
}

/* Add a group's contribution to a panel of outputs. */
static void gradient_group(const struct pointwise_pass *pass, const struct group *g, size_t panel,
                           size_t columns, bool accumulate, size_t begin, size_t end)
{
    const struct pointwise_shape *s = &pass->shape;
    struct product p = {
        .a_row = 1,
        .a_depth = LANES,
        .a_block = s->inputs * s->pixels,
        .depth = g->pixels,
        .blocks = g->images,
        .b = pass->work,
        .c_row = columns,
        .c_eight = LANES,
        .accumulate = accumulate,
    };
    for (size_t c = begin * LANES; c < end * LANES; c += LANES) {
        p.a = pass->x + (g->image * s->inputs + c) * s->pixels + g->pixel * LANES;
        p.c = pass->sums + panel * s->inputs + c * columns;
        multiply(&p, LANES, columns);
    }
}

static void gradient(const struct pointwise_pass *pass, const struct pointwise_filter *filter,
                     float *plain, size_t begin, size_t end)
{
    const struct pointwise_shape *s = &pass->shape;
    for (size_t number = 0; number < pointwise_groups(s); number++) {
        struct group g = find_group(s, number);
        for (size_t panel = 0, columns; panel < s->outputs; panel += columns) {
            columns = panel_width(s->outputs, panel);
            collect(s, &g, pass->dy, panel, columns, pass->work);
            gradient_group(pass, &g, panel, columns, number > 0, begin, end);
        }
    }
    for (size_t c = begin * LANES; c < end * LANES; c += LANES)
        restore(filter, pass->sums, c, plain);
}

const struct pointwise_kernels SYN_KERNEL(syn_pointwise) = {pack, forward, gradient};

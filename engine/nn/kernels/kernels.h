/* The loops that oneDNN has no fast kernel for, as tables of functions: one table for any machine,
 * one for AVX2 with FMA, one for AVX-512. Arrays of images are in blocks of eight channels,
 * [image][channel / 8][height][width][8], padded with zero channels; a vector of n values is an
 * image of n channels, one pixel each. */
#ifndef SYN_NN_KERNELS_KERNELS_H
#define SYN_NN_KERNELS_KERNELS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Convolution by Winograd's method, stride 1: tiles of inputs are transformed, multiplied position
 * by position with transformed filters and transformed back to side x side outputs. A tile is side
 * + kernel - 1 values wide and high.
 *   kernel 3, side 4, tile 6: 2.25 multiplications per output instead of 9
 *   kernel 3, side 2, tile 4: 4 instead of 9, for images too small for the former
 *   kernel 5, side 2, tile 6: 9 instead of 25 */
struct winograd_shape {
    size_t inputs;  /* channels, a multiple of 8 */
    size_t outputs; /* channels, a multiple of 8 */
    size_t height;  /* of the input */
    size_t width;
    size_t out_height;
    size_t out_width;
    size_t kernel;
    size_t side;
    size_t padding; /* less than kernel */
    size_t tiles;   /* of an image: ceil(out_height / side) * ceil(out_width / side) */
    size_t block;   /* tiles transformed together */
};

/* Where a filter's values are: plain [output][input][kernel][kernel] for the forward pass; for the
 * data gradient, outputs and inputs are swapped. */
struct winograd_filter {
    size_t inputs; /* without padding */
    size_t outputs;
    size_t input_stride; /* floats from one to the next */
    size_t output_stride;
    size_t kernel;
    size_t side;
};

/* For tiles [begin, end) of all images.
 *   filter  transformed
 *   work    winograd_work() floats */
struct winograd_kernels {
    /* y = convolution of x, plus bias [outputs] unless that is NULL, then max(0, y) if relu */
    void (*forward)(const struct winograd_shape *shape, const float *x, const float *filter,
                    const float *bias, bool relu, float *y, float *work, size_t begin, size_t end);
    /* dx += the gradient w.r.t. x; filter with inputs and outputs swapped. Tiles of an image
     * overlap, so ranges that run at the same time must not share an image. */
    void (*data)(const struct winograd_shape *shape, const float *dy, const float *filter,
                 float *dx, float *work, size_t begin, size_t end);
    /* filter += the gradient w.r.t. the transformed filter */
    void (*gradient)(const struct winograd_shape *shape, const float *x, const float *dy,
                     float *filter, float *work, size_t begin, size_t end);
};

/* For panels [begin, end) of sixteen outputs each. */
struct winograd_filter_kernels {
    /* transformed = G plain G', as [position][outputs / 16][inputs][16] with channels padded to
     * multiples of eight; the last panel is eight wide if that suffices */
    void (*transform)(const struct winograd_filter *filter, const float *plain, float *transformed,
                      size_t begin, size_t end);
    /* plain = G' transformed G, the gradient w.r.t. the filter */
    void (*restore)(const struct winograd_filter *filter, const float *transformed, float *plain,
                    size_t begin, size_t end);
};

/* Number of positions in a tile. */
static inline size_t winograd_positions(size_t kernel, size_t side)
{
    return (side + kernel - 1) * (side + kernel - 1);
}

/* Sizes in floats. A row of points is a little longer than its values, and so is a position: powers
 * of two would all map to the same few cache sets. */
static inline size_t winograd_row(size_t channels)
{
    return channels + 8;
}

/* A position of a block of tiles, in rows or in panels. */
static inline size_t winograd_rows(size_t channels, size_t block)
{
    return block * winograd_row(channels) + 16;
}

static inline size_t winograd_panels(size_t channels, size_t block)
{
    return block * channels + 16;
}

static inline size_t winograd_work(const struct winograd_shape *shape)
{
    return winograd_positions(shape->kernel, shape->side) *
           (winograd_rows(shape->inputs, shape->block) +
            winograd_panels(shape->outputs, shape->block));
}

/* 1x1 convolution, stride 1. */
struct pointwise_shape {
    size_t images;
    size_t inputs;  /* channels, a multiple of 8 */
    size_t outputs; /* channels, a multiple of 8 */
    size_t pixels;  /* of an image */
};

/* Where a filter's values are: [output][input]; for the data gradient they are swapped. */
struct pointwise_filter {
    size_t inputs; /* without padding */
    size_t outputs;
    size_t input_stride; /* floats from one to the next */
    size_t output_stride;
};

struct pointwise_pass {
    struct pointwise_shape shape;
    const float *x;
    const float *dy;
    const float *filter; /* packed, inputs * outputs floats */
    const float *bias;   /* [outputs], or NULL */
    bool accumulate;     /* y = y + ..., if there is no bias */
    bool relu;           /* then max(0, y) */
    float *y;
    float *sums; /* inputs * outputs floats */
    float *work; /* POINTWISE_WORK floats */
};

#define POINTWISE_GROUP 224                    /* pixels multiplied together, at most */
#define POINTWISE_WORK  (POINTWISE_GROUP * 32) /* times the outputs of the widest panel */

struct pointwise_kernels {
    /* Pack a filter for the other kernels, for blocks [begin, end) of eight outputs */
    void (*pack)(const struct pointwise_filter *filter, const float *plain, float *packed,
                 size_t begin, size_t end);
    /* y = convolution of x, for groups [begin, end). With the swapped filter, dy as x and dx as y,
     * this computes the gradient w.r.t. x. */
    void (*forward)(const struct pointwise_pass *pass, size_t begin, size_t end);
    /* plain = the gradient w.r.t. the filter, for blocks [begin, end) of eight inputs */
    void (*gradient)(const struct pointwise_pass *pass, const struct pointwise_filter *filter,
                     float *plain, size_t begin, size_t end);
};

/* Number of parts that a large image's pixels are split into. */
static inline size_t pointwise_parts(const struct pointwise_shape *shape)
{
    return (shape->pixels + POINTWISE_GROUP - 1) / POINTWISE_GROUP;
}

/* Number of whole images in a group, if an image is one part. */
static inline size_t pointwise_images(const struct pointwise_shape *shape)
{
    return shape->pixels > 0 ? POINTWISE_GROUP / shape->pixels : 1;
}

/* Number of groups of pixels: each a part of an image, or several images. */
static inline size_t pointwise_groups(const struct pointwise_shape *shape)
{
    size_t parts = pointwise_parts(shape);
    size_t images = parts == 1 ? pointwise_images(shape) : 1;
    return (shape->images + images - 1) / images * parts;
}

/* A convolution of images with few channels, in plain order. */
struct few_inputs_shape {
    size_t inputs;
    size_t outputs; /* a multiple of 8 */
    size_t height;  /* of the image with its padding */
    size_t width;
    size_t out_height;
    size_t out_width;
    size_t kernel;
    size_t stride;
};

struct few_inputs_kernels {
    /* sums [outputs / 8][inputs][kernel][kernel][8] += the gradient w.r.t. the filters, for one
     * image
     *   image  [inputs][height][width]
     *   dy     [outputs / 8][out_height][out_width][8] */
    void (*gradient)(const struct few_inputs_shape *shape, const float *image, const float *dy,
                     float *sums);
};

/* Maxima of windows, for planes of eight channels each. */
#define MAX_POOLING_MOST_KERNEL 256 /* places in a window must fit into 16 bits */

struct max_pooling_shape {
    size_t height; /* of the input */
    size_t width;
    size_t out_height;
    size_t out_width;
    size_t kernel;
    size_t stride;
    size_t padding; /* at most half of kernel; never the maximum */
};

struct max_pooling_kernels {
    /* y = maxima of x
     *   chosen  [planes][out_height][out_width][8] index of the maximum in its window, row by row;
     *           or NULL */
    void (*forward)(const struct max_pooling_shape *shape, const float *x, float *y,
                    uint16_t *chosen, size_t planes);
    /* dx = the gradient w.r.t. x */
    void (*gradient)(const struct max_pooling_shape *shape, const float *dy, const uint16_t *chosen,
                     float *dx, size_t planes);
};

/* Elementwise kernels, on arrays of count floats, a multiple of eight. Arrays may coincide. */
struct dropout_mask {
    uint32_t key;       /* a different key gives a different mask */
    uint32_t threshold; /* a value is dropped if its hash is below */
    float scale;        /* of the values that are kept */
};

struct elementwise_kernels {
    /* y = max(0, x) */
    void (*relu)(const float *x, float *y, size_t count);
    /* dx = dy where y > 0, else 0 */
    void (*relu_gradient)(const float *dy, const float *y, float *dx, size_t count);
    /* y = a + b, then max(0, y) if relu */
    void (*add)(const float *a, const float *b, float *y, size_t count, bool relu);
    /* y = x or 0, according to the mask at positions first, first + 1, ... */
    void (*dropout)(const struct dropout_mask *mask, size_t first, const float *x, float *y,
                    size_t count);
    /* Set every row of y [rows][padded] to bias [columns], followed by zeros */
    void (*repeat)(const float *bias, size_t columns, float *y, size_t rows, size_t padded);
    /* sums [channels] of dy [images][channels / 8][pixels][8] */
    void (*channel_sums)(const float *dy, size_t images, size_t channels, size_t pixels,
                         float *sums);
};

/* Softmax and cross-entropy of rows of scores. */
struct softmax_rows {
    size_t rows;
    size_t classes;
    size_t padded; /* floats from row to row */
    float scale;   /* of the gradient: one over the number of labels that are not negative */
};

struct softmax_sums {
    double loss; /* sum of -log p(label) */
    size_t correct;
};

struct softmax_kernels {
    /* Add up loss and hits of the labels that are not negative; if gradient is set, replace the
     * scores by (p - [label]) * scale, and by zeros where the label is negative */
    void (*run)(const struct softmax_rows *shape, float *scores, const int32_t *labels,
                bool gradient, struct softmax_sums *sums);
};

/* One time step of an LSTM for one row of the batch. Gates are i, f, g, o, each [hidden]. */
struct lstm_kernels {
    /* gates: sums in, activations out; c = f c_before + i g; h = o tanh(c) */
    void (*forward)(size_t hidden, float *gates, const float *c_before, float *c, float *h);
    /* gates: activations in, gradients of the sums out; dc: gradient w.r.t. c in, w.r.t. c_before
     * out
     *   dh  gradient w.r.t. h */
    void (*backward)(size_t hidden, float *gates, const float *c_before, const float *c,
                     const float *dh, float *dc);
};

/* x Phi(x), with Phi the distribution function of the standard normal distribution. Counts are
 * multiples of eight; arrays may coincide. */
struct gelu_kernels {
    /* y = x Phi(x); slope = its derivative, unless slope is NULL */
    void (*forward)(const float *x, float *y, float *slope, size_t count);
    /* dx = dy slope */
    void (*backward)(const float *dy, const float *slope, float *dx, size_t count);
};

/* Layer norm: every row shifted and scaled to mean 0 and variance 1, then scaled by weight and
 * shifted by bias. */
struct layer_norm_shape {
    size_t rows;
    size_t channels;
    size_t padded; /* floats from row to row */
    float epsilon; /* added to the variance */
};

/* What the backward pass needs to know about a row. */
struct layer_norm_moments {
    float mean;
    float factor; /* 1 / sqrt(variance + epsilon) */
};

struct layer_norm_kernels {
    /* For rows [begin, end). */
    void (*forward)(const struct layer_norm_shape *shape, const float *x, const float *weight,
                    const float *bias, float *y, struct layer_norm_moments *moments, size_t begin,
                    size_t end);
    /* dx = the gradient w.r.t. x, added to what is there if accumulate, for rows [begin, end) */
    void (*data)(const struct layer_norm_shape *shape, const float *x, const float *weight,
                 const float *dy, const struct layer_norm_moments *moments, bool accumulate,
                 float *dx, size_t begin, size_t end);
    /* The gradients w.r.t. weight and bias, for blocks [begin, end) of eight channels. Whatever the
     * blocks, a channel's sum is over the rows in order. */
    void (*weights)(const struct layer_norm_shape *shape, const float *x, const float *dy,
                    const struct layer_norm_moments *moments, float *dweight, float *dbias,
                    size_t begin, size_t end);
};

/* Causal attention of one head for one example: y[t] is the mean of v[0 ... t], weighted by the
 * softmax of the products q[t] k[0 ... t] / sqrt(width). */
struct attention_shape {
    size_t time;
    size_t width;     /* of a head, a multiple of 8 */
    size_t input_row; /* floats from one time step of q, k and v to the next */
    size_t row;       /* the same of y */
};

struct attention_head {
    const float *q;
    const float *k;
    const float *v;
    float
        *shares; /* attention_shares() floats: the weights of the means, zero above the diagonal */
    float *y;    /* forward */
    const float *dy;
    float *dq; /* backward, like dk and dv; rows as those of q */
    float *dk;
    float *dv;
    float *work; /* attention_work() floats */
};

struct attention_kernels {
    /* y and shares */
    void (*forward)(const struct attention_shape *shape, const struct attention_head *head);
    /* dq, dk and dv, from the shares of the forward pass */
    void (*backward)(const struct attention_shape *shape, const struct attention_head *head);
};

static inline size_t attention_padded(const struct attention_shape *shape)
{
    return (shape->time + 7) / 8 * 8;
}

static inline size_t attention_shares(const struct attention_shape *shape)
{
    return shape->time * attention_padded(shape);
}

static inline size_t attention_work(const struct attention_shape *shape)
{
    return 2 * attention_padded(shape) * shape->width + attention_shares(shape);
}

/* All of them, for one instruction set. */
struct nn_kernels {
    const char *name;
    const char *winograd_name;
    const struct winograd_kernels *winograd;
    const struct winograd_filter_kernels *filter;
    const char *pointwise_name;
    bool prefers_pointwise; /* over oneDNN's, which uses only AVX2 for blocks of eight channels */
    const struct pointwise_kernels *pointwise;
    const struct few_inputs_kernels *few_inputs;
    const struct max_pooling_kernels *max_pooling;
    const struct elementwise_kernels *elementwise;
    const struct softmax_kernels *softmax;
    const struct lstm_kernels *lstm;
    const struct gelu_kernels *gelu;
    const struct layer_norm_kernels *layer_norm;
    const struct attention_kernels *attention;
};

/* The sets that this machine can run, the fastest last; returns their number. */
#define NN_MOST_KERNEL_SETS 3
size_t syn_nn_kernel_sets(const struct nn_kernels *sets[NN_MOST_KERNEL_SETS]);

/* The fastest that this machine can run. */
const struct nn_kernels *syn_nn_kernels(void);

#endif

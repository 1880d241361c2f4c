/* The kernels that multiply, in every instruction set that this machine has: convolutions with
 * kernels of one pixel as plain loops have them, and the sets that round alike in the same bits. */
#include "check.h"

#include <stdlib.h>
#include <string.h>

#include <syncopate/random.h>

#include "engine/nn/kernels/kernels.h"

enum { LANES = 8 };

/* Images, channels and pixels: single ones, odd ones, several images in a group, several groups of
 * an image, several parts of the depth, panels of every width. */
static const struct {
    size_t images, inputs, outputs, pixels;
} cases[] = {{1, 1, 1, 1},    {3, 5, 19, 9},   {2, 24, 40, 49},  {9, 16, 33, 49},  {1, 64, 56, 225},
             {2, 8, 72, 450}, {2, 264, 48, 7}, {1, 520, 24, 15}, {5, 70, 100, 112}};

/* Everything about one case; arrays of floats, all but plain and restored in blocks of eight. */
struct bench {
    struct pointwise_shape shape;
    struct pointwise_filter filter;
    size_t inputs; /* floats of x, and so on */
    size_t outputs;
    size_t filters;
    float *x, *dy, *bias, *plain;
    float *packed, *y, *sums, *restored, *work;
};

static size_t padded(size_t channels)
{
    return (channels + LANES - 1) / LANES * LANES;
}

/* Small whole numbers, whose sums are exact in any order; or normal ones. */
static float *fill(struct syn_random *random, size_t count, bool whole)
{
    float *values = malloc(count * sizeof *values);
    for (size_t i = 0; i < count; i++)
        values[i] = whole ? (float)syn_random_below(random, 7) - 3 : syn_random_normal(random);
    return values;
}

/* Channels that are only padding are zero. */
static void clear_padding(float *values, size_t images, size_t channels, size_t pixels)
{
    size_t all = padded(channels);
    for (size_t i = 0; i < images; i++)
        for (size_t c = channels; c < all; c++)
            for (size_t p = 0; p < pixels; p++)
                values[(i * all + c / LANES * LANES) * pixels + p * LANES + c % LANES] = 0;
}

static void start(struct bench *b, size_t number, bool whole)
{
    struct syn_random random;
    syn_random_start(&random, number, 0);
    size_t inputs = cases[number].inputs;
    size_t outputs = cases[number].outputs;
    b->shape = (struct pointwise_shape){cases[number].images, padded(inputs), padded(outputs),
                                        cases[number].pixels};
    b->filter = (struct pointwise_filter){inputs, outputs, 1, inputs};
    b->inputs = b->shape.images * b->shape.inputs * b->shape.pixels;
    b->outputs = b->shape.images * b->shape.outputs * b->shape.pixels;
    b->filters = b->shape.inputs * b->shape.outputs;
    b->x = fill(&random, b->inputs, whole);
    b->dy = fill(&random, b->outputs, whole);
    b->bias = fill(&random, b->shape.outputs, whole);
    b->plain = fill(&random, inputs * outputs, whole);
    b->packed = fill(&random, b->filters, false);
    b->y = fill(&random, b->outputs, false);
    b->sums = fill(&random, b->filters, false);
    b->restored = fill(&random, inputs * outputs, false);
    b->work = fill(&random, POINTWISE_WORK, false);
    clear_padding(b->x, b->shape.images, inputs, b->shape.pixels);
    clear_padding(b->dy, b->shape.images, outputs, b->shape.pixels);
    clear_padding(b->bias, 1, outputs, 1);
}

static void release(struct bench *b)
{
    float *arrays[] = {b->x, b->dy,   b->bias,     b->plain, b->packed,
                       b->y, b->sums, b->restored, b->work};
    for (size_t i = 0; i < sizeof arrays / sizeof arrays[0]; i++)
        free(arrays[i]);
}

static float value(const float *values, size_t channels, size_t pixels, size_t image, size_t c,
                   size_t p)
{
    return values[(image * padded(channels) + c / LANES * LANES) * pixels + p * LANES + c % LANES];
}

static void forward(struct bench *b, const struct nn_kernels *set, bool bias, bool accumulate)
{
    struct pointwise_pass pass = {.shape = b->shape,
                                  .x = b->x,
                                  .filter = b->packed,
                                  .bias = bias ? b->bias : NULL,
                                  .accumulate = accumulate,
                                  .relu = bias,
                                  .y = b->y};
    size_t groups = pointwise_groups(&b->shape);
    set->pointwise->pack(&b->filter, b->plain, b->packed, 0, b->shape.outputs / LANES);
    set->pointwise->forward(&pass, groups / 2, groups); /* in any order */
    set->pointwise->forward(&pass, 0, groups / 2);
}

static void gradient(struct bench *b, const struct nn_kernels *set)
{
    struct pointwise_pass pass = {
        .shape = b->shape, .x = b->x, .dy = b->dy, .sums = b->sums, .work = b->work};
    size_t blocks = b->shape.inputs / LANES;
    set->pointwise->gradient(&pass, &b->filter, b->restored, blocks / 3, blocks);
    set->pointwise->gradient(&pass, &b->filter, b->restored, 0, blocks / 3);
}

static void check_forward(const struct bench *b, const float *before, bool bias)
{
    size_t inputs = b->filter.inputs, outputs = b->filter.outputs, pixels = b->shape.pixels;
    for (size_t i = 0; i < b->shape.images; i++)
        for (size_t k = 0; k < outputs; k++)
            for (size_t p = 0; p < pixels; p++) {
                float sum = bias     ? b->bias[k]
                            : before ? value(before, outputs, pixels, i, k, p)
                                     : 0;
                for (size_t c = 0; c < inputs; c++)
                    sum += b->plain[k * inputs + c] * value(b->x, inputs, pixels, i, c, p);
                if (bias && sum < 0)
                    sum = 0;
                assert_true(value(b->y, outputs, pixels, i, k, p) == sum);
            }
}

static void check_gradient(const struct bench *b)
{
    size_t inputs = b->filter.inputs, outputs = b->filter.outputs, pixels = b->shape.pixels;
    for (size_t k = 0; k < outputs; k++)
        for (size_t c = 0; c < inputs; c++) {
            float sum = 0;
            for (size_t i = 0; i < b->shape.images; i++)
                for (size_t p = 0; p < pixels; p++)
                    sum += value(b->x, inputs, pixels, i, c, p) *
                           value(b->dy, outputs, pixels, i, k, p);
            assert_true(b->restored[k * inputs + c] == sum);
        }
}

static void kernels_of_one_pixel_are_as_plain_loops_have_them(void **state)
{
    (void)state;
    const struct nn_kernels *sets[NN_MOST_KERNEL_SETS];
    size_t count = syn_nn_kernel_sets(sets);
    for (size_t set = 0; set < count; set++)
        for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
            struct bench b;
            start(&b, i, true);
            forward(&b, sets[set], false, false);
            check_forward(&b, NULL, false);
            forward(&b, sets[set], true, false);
            check_forward(&b, NULL, true);
            memcpy(b.y, b.dy, b.outputs * sizeof *b.y);
            forward(&b, sets[set], false, true);
            check_forward(&b, b.dy, false);
            gradient(&b, sets[set]);
            check_gradient(&b);
            release(&b);
        }
}

/* The last two, if this machine has them: AVX2 and AVX-512. */
static bool find_fused(const struct nn_kernels *fused[2])
{
    const struct nn_kernels *sets[NN_MOST_KERNEL_SETS];
    if (syn_nn_kernel_sets(sets) < 3)
        return false;
    memcpy(fused, sets + 1, 2 * sizeof *fused);
    return true;
}

static void avx2_and_avx512_agree_in_every_bit_of_one_pixel(void **state)
{
    (void)state;
    const struct nn_kernels *fused[2];
    if (!find_fused(fused))
        skip();
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct bench b[2];
        for (size_t set = 0; set < 2; set++) {
            start(&b[set], i, false);
            forward(&b[set], fused[set], true, false);
            gradient(&b[set], fused[set]);
        }
        assert_memory_equal(b[0].y, b[1].y, b[0].outputs * sizeof(float));
        assert_memory_equal(b[0].restored, b[1].restored,
                            b[0].filter.inputs * b[0].filter.outputs * sizeof(float));
        release(&b[0]);
        release(&b[1]);
    }
}

/* A filter there and back, and the three passes of a small convolution between them. */
static void convolve(const struct nn_kernels *set, size_t kernel, size_t side, size_t channels,
                     float *results[3])
{
    enum { SIZE = 9, IMAGES = 2 };
    struct syn_random random;
    size_t tiles = (SIZE + side - 1) / side;
    struct winograd_shape s = {channels, channels, SIZE,       SIZE,          SIZE, SIZE,
                               kernel,   side,     kernel / 2, tiles * tiles, 10};
    struct winograd_filter f = {channels, channels, kernel * kernel, channels * kernel * kernel,
                                kernel,   side};
    size_t values = IMAGES * channels * SIZE * SIZE;
    size_t all = winograd_positions(kernel, side) * channels * channels;
    syn_random_start(&random, 5, 0);
    float *x = fill(&random, values, false);
    size_t weights = channels * channels * kernel * kernel;
    float *plain = fill(&random, weights, false);
    float *filter = fill(&random, all, false);
    float *work = fill(&random, winograd_work(&s), false);
    set->filter->transform(&f, plain, filter, 0, (channels + 15) / 16);
    results[0] = calloc(values, sizeof(float));
    set->winograd->forward(&s, x, filter, NULL, false, results[0], work, 0, IMAGES * s.tiles);
    results[1] = calloc(values, sizeof(float));
    set->winograd->data(&s, x, filter, results[1], work, 0, IMAGES * s.tiles);
    memset(filter, 0, all * sizeof *filter);
    set->winograd->gradient(&s, x, results[0], filter, work, 0, IMAGES * s.tiles);
    results[2] = calloc(values, sizeof(float));
    set->filter->restore(&f, filter, plain, 0, (channels + 15) / 16);
    memcpy(results[2], plain, (values < weights ? values : weights) * sizeof(float));
    free(x);
    free(plain);
    free(filter);
    free(work);
}

static void avx2_and_avx512_agree_in_every_bit_of_winograd(void **state)
{
    (void)state;
    const struct nn_kernels *fused[2];
    if (!find_fused(fused))
        skip();
    static const size_t shapes[][3] = {{3, 4, 8}, {3, 2, 24}, {5, 2, 40}, {3, 4, 56}, {3, 4, 64}};
    for (size_t i = 0; i < sizeof shapes / sizeof shapes[0]; i++) {
        float *results[2][3];
        for (size_t set = 0; set < 2; set++)
            convolve(fused[set], shapes[i][0], shapes[i][1], shapes[i][2], results[set]);
        for (size_t pass = 0; pass < 3; pass++) {
            assert_memory_equal(results[0][pass], results[1][pass],
                                2 * shapes[i][2] * 81 * sizeof(float));
            free(results[0][pass]);
            free(results[1][pass]);
        }
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(kernels_of_one_pixel_are_as_plain_loops_have_them),
        cmocka_unit_test(avx2_and_avx512_agree_in_every_bit_of_one_pixel),
        cmocka_unit_test(avx2_and_avx512_agree_in_every_bit_of_winograd),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

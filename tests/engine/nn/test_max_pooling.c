/* Maxima of windows and their gradient, bit for bit as plain loops find them: every size of window,
 * stride and padding that a small image allows, with equal values and what is not a number. */
#include "check.h"

#include <math.h>
#include <string.h>

#include <syncopate/random.h>

#include "engine/nn/kernels/kernels.h"

enum { SIDE = 9, LANES = 8, PLANES = 2, MOST = PLANES * (SIDE + 4) * (SIDE + 4) * LANES };

static float x[MOST], dy[MOST], y[MOST], dx[MOST], slow_y[MOST], slow_dx[MOST];
static uint16_t chosen[MOST];

static bool is_before(float a, float b)
{
    return a > b || isnan(a);
}

/* One channel of one plane. */
static void pool_slowly(const struct max_pooling_shape *s, size_t from, size_t to)
{
    for (size_t row = 0; row < s->out_height; row++)
        for (size_t column = 0; column < s->out_width; column++) {
            size_t best = SIZE_MAX;
            for (size_t tap = 0; tap < s->kernel * s->kernel; tap++) {
                size_t iy = row * s->stride + tap / s->kernel - s->padding; /* wraps if outside */
                size_t ix = column * s->stride + tap % s->kernel - s->padding;
                if (iy >= s->height || ix >= s->width)
                    continue;
                size_t at = from + (iy * s->width + ix) * LANES;
                if (best == SIZE_MAX || is_before(x[at], x[best]))
                    best = at;
            }
            size_t out = to + (row * s->out_width + column) * LANES;
            slow_y[out] = x[best];
            slow_dx[best] += dy[out];
        }
}

static void fill(uint64_t seed)
{
    struct syn_random random;
    syn_random_start(&random, seed, 0);
    for (size_t i = 0; i < MOST; i++) {
        x[i] = (float)syn_random_below(&random, 7) - 5; /* many are equal, most negative */
        dy[i] = syn_random_normal(&random);
        if (syn_random_below(&random, 50) == 0)
            x[i] = NAN;
        if (syn_random_below(&random, 50) == 0)
            x[i] = -INFINITY;
    }
}

static void check(const struct nn_kernels *kernels, const struct max_pooling_shape *s)
{
    size_t inputs = s->height * s->width * LANES;
    size_t outputs = s->out_height * s->out_width * LANES;
    fill(s->kernel * 100 + s->stride * 10 + s->padding);
    memset(slow_dx, 0, sizeof slow_dx);
    memset(dx, 0xff, sizeof dx); /* what was there must not count */
    for (size_t lane = 0; lane < PLANES * LANES; lane++)
        pool_slowly(s, lane / LANES * inputs + lane % LANES, lane / LANES * outputs + lane % LANES);
    kernels->max_pooling->forward(s, x, y, chosen, PLANES);
    kernels->max_pooling->gradient(s, dy, chosen, dx, PLANES);
    assert_memory_equal(y, slow_y, PLANES * outputs * sizeof *y);
    assert_memory_equal(dx, slow_dx, PLANES * inputs * sizeof *dx);
    memset(y, 0, sizeof y);
    kernels->max_pooling->forward(s, x, y, NULL, PLANES);
    assert_memory_equal(y, slow_y, PLANES * outputs * sizeof *y);
}

static void windows_of_every_size_are_as_plain_loops_find_them(void **state)
{
    (void)state;
    const struct nn_kernels *sets[NN_MOST_KERNEL_SETS];
    size_t count = syn_nn_kernel_sets(sets);
    for (size_t kernel = 1; kernel <= 5; kernel++)
        for (size_t stride = 1; stride <= kernel + 1; stride++)
            for (size_t padding = 0; 2 * padding <= kernel; padding++) {
                struct max_pooling_shape s = {.height = SIDE,
                                              .width = SIDE - 2,
                                              .kernel = kernel,
                                              .stride = stride,
                                              .padding = padding};
                s.out_height = (s.height + 2 * padding - kernel) / stride + 1;
                s.out_width = (s.width + 2 * padding - kernel) / stride + 1;
                for (size_t i = 0; i < count; i++)
                    check(sets[i], &s);
            }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(windows_of_every_size_are_as_plain_loops_find_them),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

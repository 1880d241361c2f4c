/* The kernels of transformers, in every instruction set that this machine has: attention and layer
 * norm as plain loops in double precision have them, GELU as the C library's erf() has it, and the
 * sets that round alike in the same bits. */
#include "check.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include <syncopate/random.h>

#include "engine/nn/kernels/kernels.h"

#define TOLERANCE 2e-6

/* Time steps and widths: single ones, odd ones, panels of every width, several blocks of rows. */
static const struct {
    size_t time, width;
} cases[] = {{1, 8}, {2, 8}, {7, 16}, {13, 24}, {37, 32}, {64, 32}, {65, 40}, {100, 64}};

enum { Q, K, V, Y, DY, DQ, DK, DV, ARRAYS };

struct bench {
    struct attention_shape shape;
    float *arrays[ARRAYS]; /* [time][row] */
    float *shares;
    float *work;
};

static float *fill(struct syn_random *random, size_t count)
{
    float *values = malloc(count * sizeof *values);
    for (size_t i = 0; i < count; i++)
        values[i] = syn_random_normal(random);
    return values;
}

static void start(struct bench *b, size_t number)
{
    struct syn_random random;
    size_t time = cases[number].time;
    size_t width = cases[number].width;
    syn_random_start(&random, number, 0);
    b->shape = (struct attention_shape){time, width, width + 24, width + 8};
    for (int i = 0; i < ARRAYS; i++)
        b->arrays[i] = fill(&random, time * (width + 24));
    b->shares = fill(&random, attention_shares(&b->shape));
    b->work = fill(&random, attention_work(&b->shape));
}

static void release(struct bench *b)
{
    for (int i = 0; i < ARRAYS; i++)
        free(b->arrays[i]);
    free(b->shares);
    free(b->work);
}

static void run(struct bench *b, const struct nn_kernels *set)
{
    struct attention_head head = {.q = b->arrays[Q],
                                  .k = b->arrays[K],
                                  .v = b->arrays[V],
                                  .shares = b->shares,
                                  .y = b->arrays[Y],
                                  .dy = b->arrays[DY],
                                  .dq = b->arrays[DQ],
                                  .dk = b->arrays[DK],
                                  .dv = b->arrays[DV],
                                  .work = b->work};
    set->attention->forward(&b->shape, &head);
    set->attention->backward(&b->shape, &head);
}

/* Value c of time step t. */
static double at(const struct bench *b, int array, size_t t, size_t c)
{
    size_t row = array == Y || array == DY ? b->shape.row : b->shape.input_row;
    return (double)b->arrays[array][t * row + c];
}

static double dot(const struct bench *b, int one, size_t t, int other, size_t s)
{
    double sum = 0;
    for (size_t c = 0; c < b->shape.width; c++)
        sum += at(b, one, t, c) * at(b, other, s, c);
    return sum;
}

/* The shares of time step t: softmax of its scores up to t. */
static void share_out(const struct bench *b, size_t t, double *shares)
{
    double sum = 0;
    for (size_t s = 0; s <= t; s++)
        sum += shares[s] = exp(dot(b, Q, t, K, s) / sqrt((double)b->shape.width));
    for (size_t s = 0; s <= t; s++)
        shares[s] /= sum;
}

static void compare(const struct bench *b, const char *what, int array, const double *expected)
{
    double scale = 1;
    for (size_t i = 0; i < b->shape.time * b->shape.width; i++)
        scale = fmax(scale, fabs(expected[i]));
    for (size_t t = 0; t < b->shape.time; t++)
        for (size_t c = 0; c < b->shape.width; c++) {
            double wanted = expected[t * b->shape.width + c];
            if (!(fabs(at(b, array, t, c) - wanted) <= TOLERANCE * scale))
                fail_msg("%zu time steps, width %zu: %s[%zu][%zu] is %g; expected %g",
                         b->shape.time, b->shape.width, what, t, c, at(b, array, t, c), wanted);
        }
}

static void check(const struct bench *b)
{
    size_t time = b->shape.time;
    size_t width = b->shape.width;
    double root = sqrt((double)width);
    double *shares = calloc(time, sizeof *shares);
    double *y = calloc(4 * time * width, sizeof *y);
    double *dq = y + time * width, *dk = dq + time * width, *dv = dk + time * width;
    for (size_t t = 0; t < time; t++) {
        double mean = 0;
        share_out(b, t, shares);
        for (size_t s = 0; s <= t; s++)
            mean += shares[s] * dot(b, DY, t, V, s);
        for (size_t s = 0; s <= t; s++) {
            double by_score = shares[s] * (dot(b, DY, t, V, s) - mean) / root;
            for (size_t c = 0; c < width; c++) {
                y[t * width + c] += shares[s] * at(b, V, s, c);
                dv[s * width + c] += shares[s] * at(b, DY, t, c);
                dq[t * width + c] += by_score * at(b, K, s, c);
                dk[s * width + c] += by_score * at(b, Q, t, c);
            }
        }
    }
    compare(b, "y", Y, y);
    compare(b, "dq", DQ, dq);
    compare(b, "dk", DK, dk);
    compare(b, "dv", DV, dv);
    free(shares);
    free(y);
}

static void attention_and_its_gradients_are_those_of_plain_loops(void **state)
{
    (void)state;
    const struct nn_kernels *sets[NN_MOST_KERNEL_SETS];
    size_t count = syn_nn_kernel_sets(sets);
    for (size_t s = 0; s < count; s++)
        for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
            struct bench b;
            start(&b, i);
            run(&b, sets[s]);
            check(&b);
            release(&b);
        }
}

/* The first sets round differently: only some machines round a*b+c once. */
static void attention_has_the_same_bits_in_wider_vectors(void **state)
{
    (void)state;
    const struct nn_kernels *sets[NN_MOST_KERNEL_SETS];
    size_t count = syn_nn_kernel_sets(sets);
    for (size_t s = 2; s < count; s++)
        for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
            struct bench one, other;
            start(&one, i);
            start(&other, i);
            run(&one, sets[1]);
            run(&other, sets[s]);
            size_t bytes = one.shape.time * one.shape.input_row * sizeof(float);
            for (int a = 0; a < ARRAYS; a++)
                assert_memory_equal(one.arrays[a], other.arrays[a], bytes);
            release(&one);
            release(&other);
        }
}

/* A later word must not change what was computed for an earlier one. */
static void attention_never_looks_ahead(void **state)
{
    (void)state;
    const struct nn_kernels *set = syn_nn_kernels();
    struct bench whole, cut;
    start(&whole, 4);
    start(&cut, 4);
    size_t last = whole.shape.time - 1;
    for (int a = Q; a <= V; a++)
        for (size_t c = 0; c < cut.shape.width; c++)
            cut.arrays[a][last * cut.shape.input_row + c] += 5;
    run(&whole, set);
    run(&cut, set);
    assert_memory_equal(whole.arrays[Y], cut.arrays[Y], last * cut.shape.row * sizeof(float));
    assert_true(whole.arrays[Y][last * cut.shape.row] != cut.arrays[Y][last * cut.shape.row]);
    release(&whole);
    release(&cut);
}

static void gelu_and_its_derivative_are_those_of_the_c_library(void **state)
{
    (void)state;
    enum { COUNT = 4000 };
    static float x[COUNT], y[COUNT], slope[COUNT];
    const struct nn_kernels *sets[NN_MOST_KERNEL_SETS];
    size_t count = syn_nn_kernel_sets(sets);
    for (size_t i = 0; i < COUNT; i++)
        x[i] = (float)i * 0.01F - 20;
    for (size_t s = 0; s < count; s++) {
        sets[s]->gelu->forward(x, y, slope, COUNT);
        for (size_t i = 0; i < COUNT; i++) {
            double v = (double)x[i];
            double share = 0.5 * erfc(-v / sqrt(2));
            double derivative = share + v * exp(-v * v / 2) / sqrt(2 * acos(-1));
            if (!(fabs((double)y[i] - v * share) <= 2e-7 * fmax(1, fabs(v))) ||
                !(fabs((double)slope[i] - derivative) <= 4e-7))
                fail_msg("%s: gelu(%g) is %.9g, derivative %.9g; expected %.9g, %.9g",
                         sets[s]->name, v, (double)y[i], (double)slope[i], v * share, derivative);
        }
    }
}

/* Rows far from zero: their variance is small beside their mean. */
static void layer_norm_of_rows_far_from_zero_is_right(void **state)
{
    (void)state;
    enum { ROWS = 5, CHANNELS = 21, PADDED = 24 };
    static float x[ROWS * PADDED], y[ROWS * PADDED], weight[CHANNELS], bias[CHANNELS];
    struct layer_norm_moments moments[ROWS];
    struct layer_norm_shape shape = {ROWS, CHANNELS, PADDED, 1e-5F};
    const struct nn_kernels *sets[NN_MOST_KERNEL_SETS];
    size_t count = syn_nn_kernel_sets(sets);
    for (size_t i = 0; i < CHANNELS; i++) {
        weight[i] = 1 + (float)i / CHANNELS;
        bias[i] = (float)i - 10;
    }
    for (size_t i = 0; i < ROWS * PADDED; i++)
        x[i] = i % PADDED < CHANNELS ? 1000 + (float)(i * 7 % 11) : 0;
    for (size_t s = 0; s < count; s++) {
        sets[s]->layer_norm->forward(&shape, x, weight, bias, y, moments, 0, ROWS);
        for (size_t r = 0; r < ROWS; r++) {
            double mean = 0, variance = 0;
            for (size_t c = 0; c < CHANNELS; c++)
                mean += (double)x[r * PADDED + c] / CHANNELS;
            for (size_t c = 0; c < CHANNELS; c++)
                variance += pow((double)x[r * PADDED + c] - mean, 2) / CHANNELS;
            for (size_t c = 0; c < PADDED; c++) {
                double wanted = c >= CHANNELS ? 0
                                              : ((double)x[r * PADDED + c] - mean) /
                                                        sqrt(variance + 1e-5) * (double)weight[c] +
                                                    (double)bias[c];
                if (!(fabs((double)y[r * PADDED + c] - wanted) <= 1e-4))
                    fail_msg("%s: row %zu, channel %zu is %g; expected %g", sets[s]->name, r, c,
                             (double)y[r * PADDED + c], wanted);
            }
        }
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(attention_and_its_gradients_are_those_of_plain_loops),
        cmocka_unit_test(attention_has_the_same_bits_in_wider_vectors),
        cmocka_unit_test(attention_never_looks_ahead),
        cmocka_unit_test(gelu_and_its_derivative_are_those_of_the_c_library),
        cmocka_unit_test(layer_norm_of_rows_far_from_zero_is_right),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

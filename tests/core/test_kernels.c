/* Kernels: the vector set gives the reference's bits on every input, and the reference is right.
 * Lists: their sum. */
#include "check.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include <syncopate/random.h>

#include "tensor/kernels.h"
#include "tensor/list.h"

#define MOST 1100

struct data {
    float a[MOST + 3], b[MOST + 3], c[MOST + 3];
};

/* Normal numbers mixed with everything that may go wrong. */
static void fill(struct data *data, uint64_t seed, bool with_extremes)
{
    static const float extremes[] = {0,        -0.0F,    1e-45F,   -1e-40F,   1.1754944e-38F,
                                     3.4e38F,  -3.4e38F, INFINITY, -INFINITY, NAN,
                                     65504.0F, 65520.0F, 65519.9F, 6e-8F,     -6e-5F};
    struct syn_random random;
    float *arrays[] = {data->a, data->b, data->c};
    syn_random_start(&random, seed, 0);
    for (int k = 0; k < 3; k++)
        for (size_t i = 0; i < MOST + 3; i++) {
            arrays[k][i] = syn_random_normal(&random);
            if (with_extremes && syn_random_below(&random, 4) == 0)
                arrays[k][i] = extremes[syn_random_below(&random, 15)];
        }
}

struct result {
    float sum[MOST + 3], velocity[MOST + 3], value[MOST];
    uint32_t index[MOST];
    uint16_t half[MOST];
    float whole[MOST];
    size_t found;
    uint32_t largest;
};

static void run_all(const struct syn_kernels *kernels, const struct data *data, size_t offset,
                    size_t count, uint32_t cutoff, bool streams, struct result *out)
{
    memset(out, 0, sizeof *out);
    const float *a = data->a + offset;
    const float *b = data->b + offset;
    struct syn_scan scan = {.cutoff = cutoff, .first = 7, .index = out->index, .value = out->value};
    kernels->accumulate(out->sum + offset, a, b, 0.3F, count, streams, &scan);
    scan.found = 0;
    kernels->accumulate_velocity(out->sum + offset, out->velocity + offset, a, b, data->c + offset,
                                 0.9F, 1.7F, count, streams, &scan);
    scan.found = 0;
    kernels->scan(a, count, &scan);
    out->found = scan.found;
    out->largest = scan.largest;
    kernels->add(out->sum + offset, out->sum + offset, b, count);
    kernels->to_half(out->half, a, count);
    kernels->from_half(out->whole, out->half, count);
}

/* Sums that are not stored are caught like those that are. */
static void sums_need_not_be_stored(void **state)
{
    (void)state;
    const struct syn_kernels *sets[] = {&syn_kernels_portable, syn_kernels()};
    struct data *data = calloc(1, sizeof *data);
    struct result *with = calloc(1, sizeof *with);
    struct result *without = calloc(1, sizeof *without);
    fill(data, 3, false);
    for (int i = 0; i < 4; i++) {
        const struct syn_kernels *kernels = sets[i / 2];
        struct syn_scan scans[2] = {
            {.cutoff = 0x3f800000U, .index = with->index, .value = with->value},
            {.cutoff = 0x3f800000U, .index = without->index, .value = without->value}};
        kernels->accumulate_velocity(with->sum, with->velocity, data->a, data->b, data->c, 0.9F,
                                     1.7F, MOST, i % 2, &scans[0]);
        kernels->accumulate_velocity(NULL, without->velocity, data->a, data->b, data->c, 0.9F, 1.7F,
                                     MOST, i % 2, &scans[1]);
        assert_true(scans[0].found > 0);
        assert_int_equal(scans[1].found, scans[0].found);
        assert_int_equal(scans[1].largest, scans[0].largest);
        memset(with->sum, 0, sizeof with->sum);
        assert_memory_equal(without, with, sizeof *with);
    }
    free(data);
    free(with);
    free(without);
}

static void vector_and_portable_kernels_give_the_same_bits(void **state)
{
    (void)state;
    const struct syn_kernels *vector = syn_kernels_vector();
    if (!vector)
        skip();
    static const size_t counts[] = {0, 1, 7, 8, 31, 32, 33, 63, 64, 100, 1024, MOST};
    static const uint32_t cutoffs[] = {0, 0x3f800000U, SYN_INFINITY_BITS - 1, SYN_COLLECT_NOTHING};
    struct data *data = calloc(1, sizeof *data);
    struct result *one = calloc(1, sizeof *one);
    struct result *two = calloc(1, sizeof *two);
    for (uint64_t seed = 0; seed < 8; seed++) {
        fill(data, seed, seed % 2 == 1);
        for (size_t i = 0; i < sizeof counts / sizeof counts[0]; i++) {
            size_t offset = seed % 3;
            uint32_t cutoff = cutoffs[(seed + i) % 4];
            run_all(vector, data, offset, counts[i], cutoff, i % 2 == 0, one);
            run_all(&syn_kernels_portable, data, offset, counts[i], cutoff, false, two);
            assert_memory_equal(one, two, sizeof *one);
        }
    }
    free(data);
    free(one);
    free(two);
}

/* Two steps of momentum SGD at once are one step, and what the next would make of the weights. A
 * NaN may be any. */
struct descent {
    float weights[MOST], memory[MOST], result[MOST];
};

static void unify_nans(float values[MOST])
{
    for (size_t i = 0; i < MOST; i++)
        if (isnan(values[i]))
            values[i] = NAN;
}

static void descend(const struct syn_kernels *kernels, const struct data *data, size_t count,
                    bool foresees, struct descent *out)
{
    static const struct syn_descent step = {0.05F, 0.9F, 0.25F, 1e-3F};
    static const struct syn_descent next = {0.03F, 0.9F, 0.7F, 0};
    memset(out, 0, sizeof *out);
    memcpy(out->weights, data->a, count * sizeof(float));
    memcpy(out->memory, data->b, count * sizeof(float));
    if (foresees) {
        kernels->descend_and_foresee(step, data->c, out->weights, out->memory, next, data->c + 1,
                                     out->result, count);
    } else {
        float memory[MOST];
        kernels->descend(step, data->c, out->weights, out->memory, count);
        memcpy(out->result, out->weights, count * sizeof(float));
        memcpy(memory, out->memory, count * sizeof(float));
        kernels->descend(next, data->c + 1, out->result, memory, count);
    }
    unify_nans(out->weights);
    unify_nans(out->memory);
    unify_nans(out->result);
}

static void a_step_that_is_foreseen_is_the_next_one_to_the_bit(void **state)
{
    (void)state;
    static const size_t counts[] = {0, 1, 7, 8, 33, 1024, MOST};
    struct data *data = calloc(1, sizeof *data);
    struct descent *expected = calloc(1, sizeof *expected);
    struct descent *found = calloc(1, sizeof *found);
    for (uint64_t seed = 0; seed < 4; seed++)
        for (size_t i = 0; i < sizeof counts / sizeof counts[0]; i++) {
            fill(data, seed, seed % 2 == 1);
            descend(&syn_kernels_portable, data, counts[i], false, expected);
            for (int turn = 0; turn < 3; turn++) {
                descend(turn < 2 ? syn_kernels() : &syn_kernels_portable, data, counts[i], turn > 0,
                        found);
                assert_memory_equal(found, expected, sizeof *expected);
            }
        }
    free(data);
    free(expected);
    free(found);
}

static void halves_round_to_nearest_even_and_stop_at_65504(void **state)
{
    (void)state;
    static const struct {
        float x;
        uint16_t half;
    } cases[] = {
        {1.0F, 0x3c00},           {-2.0F, 0xc000},          {65504.0F, 0x7bff},
        {1e30F, 0x7bff},          {-1e30F, 0xfbff},         {INFINITY, 0x7c00},
        {0x1p-24F, 0x0001},       {0x1p-25F, 0x0000},       {0x1.8p-25F, 0x0001},
        {1.00048828125F, 0x3c00}, {1.00146484375F, 0x3c02}, {0x1p-14F, 0x0400},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        uint16_t half;
        syn_kernels_portable.to_half(&half, &cases[i].x, 1);
        assert_int_equal(half, cases[i].half);
    }
}

static void every_half_survives_the_way_to_float_and_back(void **state)
{
    (void)state;
    for (uint32_t bits = 0; bits < 65536; bits++) {
        uint16_t half = (uint16_t)bits;
        uint16_t back;
        float x;
        if ((bits & 0x7c00) == 0x7c00)
            continue;
        syn_kernels_portable.from_half(&x, &half, 1);
        syn_kernels_portable.to_half(&back, &x, 1);
        assert_int_equal(back, half);
    }
}

static void a_sum_of_lists_is_sorted_and_has_no_zeros(void **state)
{
    (void)state;
    struct syn_list a = {(uint32_t[]){1, 4, 5, 9}, (float[]){1, 2, 3, 4}, 4, 4};
    struct syn_list b = {(uint32_t[]){0, 4, 5, 7, 8}, (float[]){7, -2, 1, 5, 6}, 5, 5};
    static const uint32_t index[] = {0, 1, 5, 7, 8, 9}; /* 2 - 2 is none */
    static const float value[] = {7, 1, 4, 5, 6, 4};
    struct syn_list sum;
    assert_ok(syn_list_open(&sum, 9));
    for (int turn = 0; turn < 2; turn++) {
        syn_list_add(&sum, turn ? &b : &a, turn ? &a : &b);
        assert_int_equal(sum.count, 6);
        assert_memory_equal(sum.index, index, sizeof index);
        assert_memory_equal(sum.value, value, sizeof value);
    }
    syn_list_close(&sum);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(vector_and_portable_kernels_give_the_same_bits),
        cmocka_unit_test(sums_need_not_be_stored),
        cmocka_unit_test(a_step_that_is_foreseen_is_the_next_one_to_the_bit),
        cmocka_unit_test(halves_round_to_nearest_even_and_stop_at_65504),
        cmocka_unit_test(every_half_survives_the_way_to_float_and_back),
        cmocka_unit_test(a_sum_of_lists_is_sorted_and_has_no_zeros),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

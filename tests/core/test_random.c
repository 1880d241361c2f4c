/* Random numbers: the ranges and moments that models, data and simulations rely on. */
#include "check.h"

#include <math.h>

#include <syncopate/random.h>

#define DRAWS 20000

static void units_fill_0_to_1_evenly(void **state)
{
    (void)state;
    struct syn_random random;
    double sum = 0;
    float most = 0;
    syn_random_start(&random, 1, 0);
    for (int i = 0; i < DRAWS; i++) {
        float unit = syn_random_unit(&random);
        assert_true(unit >= 0 && unit < 1);
        sum += (double)unit;
        most = unit > most ? unit : most;
    }
    assert_true(fabs(sum / DRAWS - 0.5) < 0.02);
    assert_true(most > 0.99F);
}

static void normal_numbers_have_mean_0_and_variance_1(void **state)
{
    (void)state;
    struct syn_random random;
    double sum = 0;
    double squares = 0;
    syn_random_start(&random, 1, 0);
    for (int i = 0; i < DRAWS; i++) {
        double normal = (double)syn_random_normal(&random);
        sum += normal;
        squares += normal * normal;
    }
    assert_true(fabs(sum / DRAWS) < 0.05);
    assert_true(fabs(squares / DRAWS - 1) < 0.05);
}

static void every_number_below_the_limit_comes_equally_often(void **state)
{
    (void)state;
    struct syn_random random;
    int times[7] = {0};
    syn_random_start(&random, 1, 0);
    for (int i = 0; i < 7 * 2000; i++)
        times[syn_random_below(&random, 7)]++;
    for (int i = 0; i < 7; i++)
        assert_in_range(times[i], 1800, 2200);
}

/* Of three things there are six orders. */
static void all_orders_come_equally_often(void **state)
{
    (void)state;
    struct syn_random random;
    int times[27] = {0};
    syn_random_start(&random, 1, 0);
    for (int i = 0; i < 6 * 2000; i++) {
        uint32_t order[3];
        syn_random_order(&random, order, 3);
        assert_true(order[0] < 3 && order[1] < 3 && order[2] < 3);
        times[9 * order[0] + 3 * order[1] + order[2]]++;
    }
    static const int orders[] = {5, 7, 11, 15, 19, 21}; /* 012 021 102 120 201 210 */
    for (int i = 0; i < 6; i++)
        assert_in_range(times[orders[i]], 1800, 2200);
}

static void seeds_and_streams_differ_and_repeat(void **state)
{
    (void)state;
    struct syn_random a;
    struct syn_random b;
    struct syn_random c;
    struct syn_random again;
    syn_random_start(&a, 1, 2);
    syn_random_start(&b, 1, 3);
    syn_random_start(&c, 2, 2);
    syn_random_start(&again, 1, 2);
    uint64_t first = syn_random_bits(&a);
    assert_true(first == syn_random_bits(&again));
    assert_true(first != syn_random_bits(&b) && first != syn_random_bits(&c));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(units_fill_0_to_1_evenly),
        cmocka_unit_test(normal_numbers_have_mean_0_and_variance_1),
        cmocka_unit_test(every_number_below_the_limit_comes_equally_often),
        cmocka_unit_test(all_orders_come_equally_often),
        cmocka_unit_test(seeds_and_streams_differ_and_repeat),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

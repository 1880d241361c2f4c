/* Selection: topk is the set that sorting gives, whatever the data, the guess and the number of
 * lanes; thresholds collect what reaches them and steer the density. */
#include "check.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include <syncopate/random.h>

#include "reducer/intake.h"
#include "select/select.h"

#define SIZE 20011

enum kind { NORMAL, HEAVY, CONSTANT, SPARSE, DENORMAL, ZERO, ASCENDING, KINDS };

static void fill(float *x, size_t size, enum kind kind, uint64_t seed)
{
    struct syn_random random;
    syn_random_start(&random, seed, (uint64_t)kind);
    for (size_t i = 0; i < size; i++) {
        float normal = syn_random_normal(&random);
        float values[KINDS] = {
            [NORMAL] = normal,
            [HEAVY] = normal / (syn_random_unit(&random) + 1e-6F),
            [CONSTANT] = normal < 0 ? -0.5F : 0.5F,
            [SPARSE] = syn_random_below(&random, 200) == 0 ? normal : 0,
            [DENORMAL] = normal * 1e-41F,
            [ZERO] = 0,
            [ASCENDING] = (float)i * 1e-3F,
        };
        x[i] = values[kind];
    }
}

struct entry {
    uint32_t magnitude;
    uint32_t index;
};

static int by_magnitude(const void *left, const void *right)
{
    const struct entry *a = left;
    const struct entry *b = right;
    if (a->magnitude != b->magnitude)
        return a->magnitude > b->magnitude ? -1 : 1;
    return a->index < b->index ? -1 : 1;
}

static int by_index(const void *left, const void *right)
{
    uint32_t a = ((const struct entry *)left)->index;
    uint32_t b = ((const struct entry *)right)->index;
    return a < b ? -1 : a > b;
}

/* The reference: sort everything. Zeros are never picked. Returns how many. */
static size_t sort_and_pick(const float *x, size_t size, size_t k, struct entry *picked)
{
    struct entry *all = malloc((size + 1) * sizeof *all);
    size_t count = 0;
    for (size_t i = 0; i < size; i++)
        if (x[i] != 0)
            all[count++] = (struct entry){syn_magnitude(x[i]), (uint32_t)i};
    qsort(all, count, sizeof *all, by_magnitude);
    count = count < k ? count : k;
    qsort(all, count, sizeof *all, by_index);
    memcpy(picked, all, count * sizeof *all);
    free(all);
    return count;
}

struct setup {
    struct syn_reducer_options options;
    struct syn_pool *pool;
    void *select;
    struct syn_residual residual;
    float *zeros;
    struct syn_list picked;
    size_t size;
    size_t limit;
};

static struct setup open_with(const struct syn_reducer_options *options, size_t size,
                              size_t threads)
{
    struct setup s = {.options = *options, .size = size};
    const struct syn_select_type *type = syn_select_find(options->select);
    s.limit = type->limit(&s.options, size, options->density);
    assert_ok(syn_pool_open(threads, &s.pool));
    assert_ok(type->open(&s.options, size, s.limit, threads, &s.select));
    assert_ok(syn_list_open(&s.picked, s.limit));
    s.zeros = calloc(size + 1, sizeof(float));
    s.residual.unsent = calloc(size + 1, sizeof(float));
    return s;
}

static struct setup open_setup(const char *select, size_t size, double density, size_t threads)
{
    struct syn_reducer_options options;
    syn_reducer_defaults(&options);
    options.select = select;
    options.density = density;
    return open_with(&options, size, threads);
}

static void close_setup(struct setup *s)
{
    syn_select_find(s->options.select)->close(s->select);
    syn_pool_close(s->pool);
    syn_list_close(&s->picked);
    free(s->zeros);
    free(s->residual.unsent);
}

static void pick(struct setup *s, const float *gradient)
{
    struct syn_intake intake = {
        .residual_type = syn_residual_find("feedback"),
        .select_type = syn_select_find(s->options.select),
        .select = s->select,
        .before = {.unsent = s->zeros},
        .after = s->residual,
        .gradient = gradient,
        .size = s->size,
        .scale = 1,
    };
    syn_intake_run(&intake, s->pool, s->limit, s->options.density, &s->picked);
}

static void assert_picked_as_sorted(struct setup *s, const float *x)
{
    struct entry *expected = malloc((s->limit + 1) * sizeof *expected);
    size_t count = sort_and_pick(x, s->size, s->limit, expected);
    assert_int_equal(s->picked.count, count);
    for (size_t i = 0; i < count; i++) {
        assert_int_equal(s->picked.index[i], expected[i].index);
        assert_memory_equal(&s->picked.value[i], &x[expected[i].index], sizeof(float));
    }
    free(expected);
}

static void topk_is_what_sorting_gives_on_any_data(void **state)
{
    (void)state;
    static const double densities[] = {0, 0.001, 0.01, 0.3, 0.7, 1};
    float *x = malloc(SIZE * sizeof *x);
    for (size_t threads = 1; threads <= 3; threads++)
        for (size_t d = 0; d < 6; d++) {
            struct setup s = open_setup("topk", SIZE, densities[d], threads);
            /* From one kind of data to the next the guess is as wrong as can be. */
            for (int turn = 0; turn < 2 * KINDS; turn++) {
                fill(x, SIZE, (enum kind)(turn % KINDS), (uint64_t)turn);
                pick(&s, x);
                assert_picked_as_sorted(&s, x);
            }
            close_setup(&s);
        }
    free(x);
}

static void topk_works_on_tiny_sizes(void **state)
{
    (void)state;
    static const float x[5] = {1, -3, 3, 0, 2};
    for (size_t size = 0; size <= 5; size++)
        for (int k = 0; k <= 5; k++) {
            struct setup s = open_setup("topk", size, k / 5.0, 2);
            pick(&s, x);
            assert_picked_as_sorted(&s, x);
            close_setup(&s);
        }
}

static void ties_go_to_the_smaller_index(void **state)
{
    (void)state;
    static const float x[6] = {1, -2, 2, 2, -2, 1};
    struct setup s = open_setup("topk", 6, 0.34, 1);
    pick(&s, x);
    assert_int_equal(s.picked.count, 2);
    assert_int_equal(s.picked.index[0], 1);
    assert_int_equal(s.picked.index[1], 2);
    close_setup(&s);
}

static void threshold_picks_what_reaches_it_and_no_more(void **state)
{
    (void)state;
    static const float x[6] = {0.5F, -0.5F, 0.49999997F, 0, 7, -0.1F};
    struct syn_reducer_options options;
    syn_reducer_defaults(&options);
    options.select = "threshold";
    options.threshold = 0.5;
    options.density_max = 1;
    struct setup s = open_with(&options, 6, 1);
    pick(&s, x);
    assert_int_equal(s.picked.count, 3);
    assert_int_equal(s.picked.index[0], 0);
    assert_int_equal(s.picked.index[1], 1);
    assert_int_equal(s.picked.index[2], 4);
    close_setup(&s);
}

static void threshold_never_picks_more_than_its_limit(void **state)
{
    (void)state;
    float *x = malloc(SIZE * sizeof *x);
    fill(x, SIZE, CONSTANT, 1);
    struct setup s = open_setup("threshold", SIZE, 0.001, 2);
    pick(&s, x);
    assert_int_equal(s.limit, SIZE / 4);
    assert_int_equal(s.picked.count, s.limit);
    close_setup(&s);
    free(x);
}

static struct setup open_target(double density, size_t size, size_t threads)
{
    struct syn_reducer_options options;
    syn_reducer_defaults(&options);
    options.select = "threshold";
    options.threshold_mode = "target";
    options.density = density;
    return open_with(&options, size, threads);
}

static void target_mode_comes_near_its_target_and_never_above(void **state)
{
    (void)state;
    float *x = malloc(SIZE * sizeof *x);
    struct setup s = open_target(0.01, SIZE, 1);
    for (uint64_t step = 0; step < 100; step++) {
        fill(x, SIZE, NORMAL, step);
        pick(&s, x);
        assert_in_range(s.picked.count, SIZE / 200, SIZE / 100);
    }
    close_setup(&s);
    free(x);
}

static void target_mode_begins_with_its_target_whatever_the_scale(void **state)
{
    (void)state;
    static const float scales[] = {1e-20F, 1, 1e20F};
    float *x = malloc(SIZE * sizeof *x);
    for (size_t i = 0; i < 6; i++) {
        struct setup s = open_target(0.01, SIZE, 1 + i % 2);
        fill(x, SIZE, NORMAL, 1);
        for (size_t e = 0; e < SIZE; e++)
            x[e] *= scales[i / 2];
        pick(&s, x);
        s.limit = SIZE / 100; /* what is to be expected of it */
        assert_picked_as_sorted(&s, x);
        close_setup(&s);
    }
    free(x);
}

static void target_mode_waits_for_the_first_sums_that_are_not_zero(void **state)
{
    (void)state;
    static const float zeros[1000];
    static const float two[1000] = {[10] = 0.25F, [500] = -0.5F};
    struct setup s = open_target(0.01, 1000, 1);
    pick(&s, zeros);
    assert_int_equal(s.picked.count, 0);
    pick(&s, two);
    assert_int_equal(s.picked.count, 2);
    assert_int_equal(s.picked.index[1], 500);
    close_setup(&s);
}

/* Also if there are just as many as asked for, so that nothing has to be left out. */
static void target_mode_takes_the_least_that_it_sends_for_its_threshold(void **state)
{
    (void)state;
    static const float steps[] = {1, 2, 1.95F};
    float x[1000] = {0};
    struct setup s = open_target(0.01, 1000, 1);
    for (size_t step = 0; step < 3; step++) {
        for (size_t i = 0; i < 10; i++)
            x[100 * i] = steps[step];
        pick(&s, x);
        assert_int_equal(s.picked.count, 10);
        assert_true(syn_select_find("threshold")->threshold(s.select) == steps[step]);
    }
    close_setup(&s);
}

/* So many of a thousand entries reach tau, whatever it is: twenty steps are a factor of two. */
static void band_mode_lowers_its_threshold_below_the_band_and_raises_it_above(void **state)
{
    (void)state;
    static const struct {
        size_t reaching;
        double tau;
    } cases[] = {{0, 0.5}, {50, 0.5}, {150, 1}, {250, 2}};
    struct syn_reducer_options options;
    syn_reducer_defaults(&options);
    options.select = "threshold";
    options.threshold_mode = "band";
    options.threshold = 1;
    options.threshold_low = 0.1;
    options.threshold_high = 0.2;
    for (size_t c = 0; c < sizeof cases / sizeof cases[0]; c++) {
        float x[1000] = {0};
        struct setup s = open_with(&options, 1000, 1);
        for (size_t i = 0; i < cases[c].reaching; i++)
            x[i] = 100;
        for (size_t step = 0; step <= 20; step++)
            pick(&s, x);
        double tau = (double)syn_select_find("threshold")->threshold(s.select);
        close_setup(&s);
        if (fabs(tau - cases[c].tau) > 1e-5)
            fail_msg("%zu entries: tau is %g; expected %g", cases[c].reaching, tau, cases[c].tau);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(topk_is_what_sorting_gives_on_any_data),
        cmocka_unit_test(topk_works_on_tiny_sizes),
        cmocka_unit_test(ties_go_to_the_smaller_index),
        cmocka_unit_test(threshold_picks_what_reaches_it_and_no_more),
        cmocka_unit_test(threshold_never_picks_more_than_its_limit),
        cmocka_unit_test(target_mode_comes_near_its_target_and_never_above),
        cmocka_unit_test(target_mode_begins_with_its_target_whatever_the_scale),
        cmocka_unit_test(target_mode_waits_for_the_first_sums_that_are_not_zero),
        cmocka_unit_test(target_mode_takes_the_least_that_it_sends_for_its_threshold),
        cmocka_unit_test(band_mode_lowers_its_threshold_below_the_band_and_raises_it_above),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

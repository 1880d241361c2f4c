/* The global optimizer: its formula, that sparse and dense agree to the bit, and what it
 * refuses. */
#include "check.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include <syncopate/optimizer.h>
#include <syncopate/random.h>

#define STEPS 10
#define MOST  5000 /* more than two blocks of the sparse path, and not a multiple of one */

static const double rate = 0.05;
static const double share = 1.0 / 3;

/* Every kind of update: plain, decayed, with momentum, looking ahead, and adapting. */
static const struct {
    double momentum, weight_decay;
    bool nesterov;
    const char *optimizer;
} updates[] = {{0, 0, false, "sgd"},      {0, 0.01, false, "sgd"},  {0.9, 0, false, "sgd"},
               {0.9, 0.01, false, "sgd"}, {0.5, 0, true, "sgd"},    {0.9, 5e-4, true, "sgd"},
               {0, 0, false, "lamb"},     {0, 0.01, false, "lamb"}, {0, 0, false, "adamw"},
               {0, 0.01, false, "adamw"}};
#define UPDATES (sizeof updates / sizeof updates[0])

static const size_t sizes[] = {0, 1, 2, 7, 64, 2047, 2048, 2049, MOST};
#define SIZES (sizeof sizes / sizeof sizes[0])

static struct syn_optimizer_options options_of(size_t update)
{
    struct syn_optimizer_options options;
    syn_settings_defaults(&syn_optimizer_settings, &options);
    options.momentum = updates[update].momentum;
    options.weight_decay = updates[update].weight_decay;
    options.nesterov = updates[update].nesterov;
    options.optimizer = updates[update].optimizer;
    return options;
}

static struct syn_optimizer *opened(size_t update, size_t size)
{
    struct syn_optimizer_options options = options_of(update);
    struct syn_optimizer *optimizer;
    assert_ok(syn_optimizer_open(&options, size, &optimizer));
    return optimizer;
}

static void fill(float *values, size_t count, uint64_t seed)
{
    struct syn_random random;
    syn_random_start(&random, seed, 0);
    for (size_t i = 0; i < count; i++)
        values[i] = syn_random_normal(&random);
}

/* Adam's direction. */
static double adapting_reference(double g, double *m, double *v, uint64_t step)
{
    double t = (double)step + 1;
    *m = 0.9 * *m + 0.1 * share * g;
    *v = 0.999 * *v + 0.001 * share * g * share * g;
    return (*m / (1 - pow(0.9, t))) / (sqrt(*v / (1 - pow(0.999, t))) + 1e-8);
}

static void adamw_reference(size_t update, double g, double *w, double *m, double *v, uint64_t step)
{
    *w -= rate * updates[update].weight_decay * *w;
    *w -= rate * adapting_reference(g, m, v, step);
}

/* One tensor's step. */
static void lamb_reference(size_t update, const float *g, double *w, double *m, double *v,
                           size_t size, uint64_t step)
{
    static double u[MOST];
    double of_weights = 0;
    double of_update = 0;
    for (size_t i = 0; i < size; i++) {
        u[i] = adapting_reference(g[i], &m[i], &v[i], step) + updates[update].weight_decay * w[i];
        of_weights += w[i] * w[i];
        of_update += u[i] * u[i];
    }
    for (size_t i = 0; i < size; i++)
        w[i] -= rate * (of_weights > 0 && of_update > 0 ? sqrt(of_weights / of_update) : 1) * u[i];
}

/* One weight's step in double, as the header states it. */
static void reference(size_t update, double g, double *w, double *m)
{
    double mu = updates[update].momentum;
    double decayed = share * g + updates[update].weight_decay * *w;
    *m = mu * *m + decayed;
    *w -= rate * (updates[update].nesterov ? decayed + mu * *m : *m);
}

static void follows_the_formula(size_t update, size_t size)
{
    static float weights[MOST];
    static float gradient[MOST];
    static double w[MOST];
    static double m[MOST];
    static double v[MOST];
    struct syn_optimizer *optimizer = opened(update, size);
    fill(weights, size, 1);
    for (size_t i = 0; i < size; i++) {
        w[i] = weights[i];
        m[i] = v[i] = 0;
    }
    for (uint64_t step = 0; step < STEPS; step++) {
        fill(gradient, size, 2 + step);
        assert_ok(syn_optimizer_apply(optimizer, rate, share, gradient, weights));
        bool is_lamb = strcmp(updates[update].optimizer, "lamb") == 0;
        if (is_lamb)
            lamb_reference(update, gradient, w, m, v, size, step);
        for (size_t i = 0; i < size; i++) {
            if (strcmp(updates[update].optimizer, "adamw") == 0)
                adamw_reference(update, gradient[i], &w[i], &m[i], &v[i], step);
            else if (!is_lamb)
                reference(update, gradient[i], &w[i], &m[i]);
            if (fabs(w[i] - weights[i]) > 2e-6 * (1 + fabs(w[i])))
                fail_msg("update %zu, step %d, weight %zu of %zu: %.9g, expected %.9g", update,
                         (int)step, i, size, (double)weights[i], w[i]);
        }
    }
    syn_optimizer_free(optimizer);
}

static void ten_dense_steps_follow_the_formula(void **state)
{
    (void)state;
    for (size_t update = 0; update < UPDATES; update++)
        for (size_t i = 0; i < SIZES; i++)
            follows_the_formula(update, sizes[i]);
}

/* What vector code must equal to the bit: one rounding after the other, in single precision. */
static void every_product_is_rounded_before_it_is_added(void **state)
{
    (void)state;
    static float weights[MOST];
    static float before[MOST];
    static float gradient[MOST];
    struct syn_optimizer *optimizer = opened(3, MOST);
    fill(weights, MOST, 1);
    fill(gradient, MOST, 2);
    memcpy(before, weights, sizeof before);
    assert_ok(syn_optimizer_apply(optimizer, rate, share, gradient, weights));
    for (size_t i = 0; i < MOST; i++) {
        volatile float scaled = (float)share * gradient[i];
        volatile float decay = 0.01F * before[i];
        volatile float decayed = scaled + decay;
        volatile float moved = (float)rate * decayed;
        volatile float expected = before[i] - moved;
        if (weights[i] != expected)
            fail_msg("weight %zu: %.9g, expected %.9g", i, (double)weights[i], (double)expected);
    }
    syn_optimizer_free(optimizer);
}

/* Take each entry with probability density; entries not taken are zero in dense. */
static size_t thin_out(float *dense, size_t size, float density, uint64_t seed, uint32_t *indices,
                       float *values)
{
    struct syn_random random;
    size_t count = 0;
    syn_random_start(&random, seed, 1);
    for (size_t i = 0; i < size; i++) {
        if (syn_random_unit(&random) >= density) {
            dense[i] = 0;
            continue;
        }
        indices[count] = (uint32_t)i;
        values[count++] = dense[i];
    }
    return count;
}

static void sparse_equals_dense(size_t update, size_t size, float density)
{
    static float one[MOST];
    static float other[MOST];
    static float gradient[MOST];
    static uint32_t indices[MOST];
    static float values[MOST];
    struct syn_optimizer *dense = opened(update, size);
    struct syn_optimizer *sparse = opened(update, size);
    fill(one, size, 1);
    memcpy(other, one, sizeof other);
    for (uint64_t step = 0; step < STEPS; step++) {
        fill(gradient, size, 2 + step);
        size_t count = thin_out(gradient, size, density, step, indices, values);
        assert_ok(syn_optimizer_apply(dense, rate, share, gradient, one));
        assert_ok(syn_optimizer_apply_sparse(sparse, rate, share, indices, values, count, other));
        assert_memory_equal(one, other, size * sizeof *one);
    }
    syn_optimizer_free(dense);
    syn_optimizer_free(sparse);
}

static void ten_sparse_steps_equal_dense_ones_to_the_bit(void **state)
{
    (void)state;
    static const float densities[] = {0, 0.001F, 0.1F, 1};
    for (size_t update = 0; update < UPDATES; update++)
        for (size_t i = 0; i < SIZES; i++)
            for (size_t j = 0; j < sizeof densities / sizeof densities[0]; j++)
                sparse_equals_dense(update, sizes[i], densities[j]);
}

static void a_plain_sparse_step_touches_only_what_is_listed(void **state)
{
    (void)state;
    struct syn_optimizer *optimizer = opened(0, 4);
    float weights[4] = {NAN, 1, NAN, 2};
    const uint32_t indices[] = {1, 3};
    const float values[] = {1, -1};
    assert_ok(syn_optimizer_apply_sparse(optimizer, 0.5, 1, indices, values, 2, weights));
    assert_true(isnan(weights[0]) && isnan(weights[2]));
    assert_true(weights[1] == 0.5F && weights[3] == 2.5F);
    assert_int_equal(syn_optimizer_state_size(optimizer), 0);
    syn_optimizer_free(optimizer);
}

static void a_saved_state_goes_on_with_the_same_bits(void **state)
{
    (void)state;
    struct syn_optimizer *first = opened(5, 100);
    struct syn_optimizer *second = opened(5, 100);
    float weights[100];
    float copy[100];
    float gradient[100];
    float saved[100];
    fill(weights, 100, 1);
    fill(gradient, 100, 2);
    assert_ok(syn_optimizer_apply(first, rate, share, gradient, weights));
    assert_int_equal(syn_optimizer_state_size(first), 100);
    syn_optimizer_save(first, saved);
    memcpy(copy, weights, sizeof copy);
    assert_ok(syn_optimizer_load(second, saved, 100));
    assert_ok(syn_optimizer_apply(first, rate, share, gradient, weights));
    assert_ok(syn_optimizer_apply(second, rate, share, gradient, copy));
    assert_memory_equal(weights, copy, sizeof copy);
    syn_optimizer_free(first);
    syn_optimizer_free(second);
}

static void a_bad_state_is_refused_and_the_old_one_kept(void **state)
{
    (void)state;
    struct syn_optimizer *optimizer = opened(2, 3);
    const float good[] = {1, 2, 3};
    const float bad[] = {4, 5, INFINITY};
    float kept[3];
    assert_ok(syn_optimizer_load(optimizer, good, 3));
    assert_status(SYN_NONFINITE, syn_optimizer_load(optimizer, bad, 3));
    assert_status(SYN_INVALID, syn_optimizer_load(optimizer, good, 2));
    syn_optimizer_save(optimizer, kept);
    assert_memory_equal(kept, good, sizeof kept);
    syn_optimizer_free(optimizer);
}

static void bad_rates_and_indices_are_refused_and_change_nothing(void **state)
{
    (void)state;
    struct syn_optimizer *optimizer = opened(3, 3);
    float weights[] = {1, 2, 3};
    const float before[] = {1, 2, 3};
    const float values[] = {1, 1, 1};
    static const uint32_t lists[][2] = {{0, 3}, {1, 1}, {2, 1}, {UINT32_MAX, 0}};
    for (size_t i = 0; i < sizeof lists / sizeof lists[0]; i++)
        assert_status(SYN_INVALID,
                      syn_optimizer_apply_sparse(optimizer, 0.1, 1, lists[i], values, 2, weights));
    assert_status(SYN_INVALID, syn_optimizer_apply(optimizer, -1, 1, values, weights));
    assert_status(SYN_INVALID, syn_optimizer_apply(optimizer, (double)NAN, 1, values, weights));
    assert_status(SYN_INVALID, syn_optimizer_apply(optimizer, 1, INFINITY, values, weights));
    assert_memory_equal(weights, before, sizeof before);
    syn_optimizer_free(optimizer);
    syn_optimizer_free(NULL);
}

static void options_out_of_range_are_refused(void **state)
{
    (void)state;
    struct syn_optimizer *optimizer = NULL;
    struct syn_optimizer_options options = options_of(0);
    options.momentum = 1;
    assert_status(SYN_INVALID, syn_optimizer_open(&options, 1, &optimizer));
    options = options_of(0);
    options.nesterov = true;
    assert_status(SYN_INVALID, syn_optimizer_open(&options, 1, &optimizer));
    options = options_of(0);
    options.optimizer = "nothing";
    assert_status(SYN_INVALID, syn_optimizer_open(&options, 1, &optimizer));
    options = options_of(2);
    assert_status(SYN_MEMORY, syn_optimizer_open(&options, SIZE_MAX / 2, &optimizer));
    assert_null(optimizer);
}

static void every_optimizer_has_a_name_and_a_line(void **state)
{
    (void)state;
    size_t i = 0;
    for (; syn_optimizer_name(i); i++)
        assert_true(strlen(syn_optimizer_help(i)) > 0);
    assert_true(i > 0);
    assert_null(syn_optimizer_help(i));
}

/* Four tensors: as they are, slower, without decay, as they are. */
static struct syn_layout *rated_layout(void)
{
    static const struct syn_tensor_rates rates[] = {{1, 1}, {0.5, 1}, {1, 0}, {1, 1}};
    static const char *const names[] = {"a", "b", "c", "d"};
    static const size_t counts[] = {1000, 1, 2500, 1499};
    struct syn_layout *layout;
    assert_ok(syn_layout_new(&layout));
    for (size_t i = 0; i < 4; i++) {
        assert_ok(syn_layout_add(layout, names[i], counts[i]));
        assert_ok(syn_layout_rate(layout, i, rates[i]));
    }
    return layout;
}

/* Some steps of that tensor by itself, at its own rates. */
static void train_alone(size_t update, struct syn_tensor_rates rates, const float *gradient,
                        float *weights, size_t count)
{
    struct syn_optimizer_options options = options_of(update);
    struct syn_optimizer *optimizer;
    options.weight_decay *= rates.weight_decay;
    assert_ok(syn_optimizer_open(&options, count, &optimizer));
    for (int step = 0; step < 3; step++)
        assert_ok(syn_optimizer_apply(optimizer, rate * rates.lr, share, gradient, weights));
    syn_optimizer_free(optimizer);
}

static void tensors_have_rates_of_their_own(void **state)
{
    (void)state;
    static float together[MOST], sparse[MOST], apart[MOST], gradient[MOST];
    static uint32_t indices[MOST];
    for (uint32_t i = 0; i < MOST; i++)
        indices[i] = i;
    for (size_t update = 0; update < UPDATES; update++) {
        struct syn_layout *layout = rated_layout();
        struct syn_optimizer_options options = options_of(update);
        struct syn_optimizer *dense;
        struct syn_optimizer *listed;
        assert_ok(syn_optimizer_open_layout(&options, layout, &dense));
        assert_ok(syn_optimizer_open_layout(&options, layout, &listed));
        fill(together, MOST, 1);
        fill(gradient, MOST, 2);
        memcpy(apart, together, sizeof apart);
        memcpy(sparse, together, sizeof sparse);
        for (int step = 0; step < 3; step++) {
            assert_ok(syn_optimizer_apply(dense, rate, share, gradient, together));
            assert_ok(
                syn_optimizer_apply_sparse(listed, rate, share, indices, gradient, MOST, sparse));
        }
        for (size_t i = 0; i < 4; i++) {
            struct syn_tensor tensor = syn_layout_tensor(layout, i);
            train_alone(update, syn_layout_rates(layout, i), gradient + tensor.offset,
                        apart + tensor.offset, tensor.count);
        }
        assert_memory_equal(together, apart, sizeof apart);
        assert_memory_equal(sparse, apart, sizeof apart);
        syn_optimizer_free(dense);
        syn_optimizer_free(listed);
        syn_layout_free(layout);
    }
}

/* Two steps as opened, one tuned to what it was opened with: the bits of three steps. Then one with
 * other settings: those of an optimizer of these that remembers the same. */
static void settings_change_and_what_is_remembered_stays(void **state)
{
    (void)state;
    enum { SIZE = 5000 };
    static float gradient[SIZE];
    static float weights[2][SIZE];
    static float memory[2 * SIZE + 1];
    struct syn_layout *layout = rated_layout();
    struct syn_optimizer_options options = options_of(UPDATES - 1);
    struct syn_optimizer *one;
    struct syn_optimizer *two;
    fill(gradient, SIZE, 1);
    assert_ok(syn_optimizer_open_layout(&options, layout, &one));
    for (int step = 0; step < 3; step++) {
        assert_ok(syn_optimizer_apply(one, rate, share, gradient, weights[0]));
        assert_ok(syn_optimizer_tune(one, &options, layout));
    }
    syn_optimizer_save(one, memory);
    memcpy(weights[1], weights[0], sizeof weights[0]);
    options.beta1 = 0.5;
    options.weight_decay = 0.3;
    assert_ok(syn_layout_rate(layout, 2, (struct syn_tensor_rates){2, 0.25}));
    assert_ok(syn_optimizer_tune(one, &options, layout));
    assert_ok(syn_optimizer_open_layout(&options, layout, &two));
    assert_ok(syn_optimizer_load(two, memory, sizeof memory / sizeof memory[0]));
    assert_ok(syn_optimizer_apply(one, rate, share, gradient, weights[0]));
    assert_ok(syn_optimizer_apply(two, rate, share, gradient, weights[1]));
    assert_memory_equal(weights[0], weights[1], sizeof weights[0]);
    syn_optimizer_free(one);
    syn_optimizer_free(two);
    syn_layout_free(layout);
}

static void settings_that_do_not_fit_what_is_remembered_are_refused(void **state)
{
    (void)state;
    struct syn_layout *layout = rated_layout();
    struct syn_layout *other;
    struct syn_optimizer *optimizer;
    struct syn_optimizer_options options;
    syn_settings_defaults(&syn_optimizer_settings, &options);
    assert_ok(syn_layout_new(&other));
    assert_ok(syn_layout_add(other, "a", 1));
    assert_ok(syn_optimizer_open_layout(&options, layout, &optimizer));
    assert_status(SYN_INVALID, syn_optimizer_tune(optimizer, &options, other));
    options.momentum = 0;
    assert_status(SYN_INVALID, syn_optimizer_tune(optimizer, &options, layout));
    options.momentum = 0.5;
    assert_ok(syn_optimizer_tune(optimizer, &options, layout));
    options.optimizer = "adamw";
    assert_status(SYN_INVALID, syn_optimizer_tune(optimizer, &options, layout));
    syn_optimizer_free(optimizer);
    syn_layout_free(layout);
    syn_layout_free(other);
}

static void rates_that_are_none_are_refused(void **state)
{
    (void)state;
    struct syn_layout *layout = rated_layout();
    assert_status(SYN_INVALID, syn_layout_rate(layout, 1, (struct syn_tensor_rates){-1, 1}));
    assert_status(SYN_INVALID, syn_layout_rate(layout, 1, (struct syn_tensor_rates){1, NAN}));
    assert_true(syn_layout_rates(layout, 1).lr == 0.5);
    syn_layout_free(layout);
}

static void a_state_with_an_impossible_number_of_updates_is_refused(void **state)
{
    (void)state;
    static const float counts[] = {-1, 0.5F, 1e9F};
    struct syn_optimizer *optimizer = opened(UPDATES - 1, 3);
    float saved[7] = {0};
    assert_int_equal(syn_optimizer_state_size(optimizer), 7);
    for (int i = 0; i < 3; i++) {
        saved[6] = counts[i];
        assert_status(SYN_FORMAT, syn_optimizer_load(optimizer, saved, 7));
    }
    syn_optimizer_free(optimizer);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(ten_dense_steps_follow_the_formula),
        cmocka_unit_test(every_product_is_rounded_before_it_is_added),
        cmocka_unit_test(ten_sparse_steps_equal_dense_ones_to_the_bit),
        cmocka_unit_test(a_plain_sparse_step_touches_only_what_is_listed),
        cmocka_unit_test(a_saved_state_goes_on_with_the_same_bits),
        cmocka_unit_test(a_bad_state_is_refused_and_the_old_one_kept),
        cmocka_unit_test(bad_rates_and_indices_are_refused_and_change_nothing),
        cmocka_unit_test(options_out_of_range_are_refused),
        cmocka_unit_test(every_optimizer_has_a_name_and_a_line),
        cmocka_unit_test(tensors_have_rates_of_their_own),
        cmocka_unit_test(settings_change_and_what_is_remembered_stays),
        cmocka_unit_test(settings_that_do_not_fit_what_is_remembered_are_refused),
        cmocka_unit_test(rates_that_are_none_are_refused),
        cmocka_unit_test(a_state_with_an_impossible_number_of_updates_is_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

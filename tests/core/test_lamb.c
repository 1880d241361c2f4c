/* LAMB where its ratio of lengths is not an ordinary number. */
#include "check.h"

#include <math.h>

#include <syncopate/optimizer.h>

/* For a tensor of two weights. */
static struct syn_optimizer *opened(void)
{
    struct syn_optimizer_options options;
    struct syn_optimizer *optimizer;
    syn_settings_defaults(&syn_optimizer_settings, &options);
    options.optimizer = "lamb";
    assert_ok(syn_optimizer_open(&options, 2, &optimizer));
    return optimizer;
}

/* A tensor of zeros, and one whose gradient is zero, have no ratio of lengths. */
static void lamb_moves_a_tensor_without_a_length_by_adams_step(void **state)
{
    (void)state;
    struct syn_optimizer *optimizer = opened();
    float weights[] = {0, 0};
    const float gradient[] = {1, -2};
    const float none[] = {0, 0};
    assert_ok(syn_optimizer_apply(optimizer, 0.1, 1, none, weights));
    assert_true(weights[0] == 0 && weights[1] == 0);
    syn_optimizer_free(optimizer);
    optimizer = opened();
    assert_ok(syn_optimizer_apply(optimizer, 0.1, 1, gradient, weights));
    assert_true(fabsf(weights[0] + 0.1F) < 1e-6F && fabsf(weights[1] - 0.1F) < 1e-6F);
    syn_optimizer_free(optimizer);
}

/* Factors of lengths far beyond the range of floats. */
static void lamb_stays_finite_at_the_ends_of_the_range(void **state)
{
    (void)state;
    static const float cases[][2] = {{1e-45F, 1e30F}, {3e38F, 1e-30F}, {3e38F, 1e30F}};
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct syn_optimizer *optimizer = opened();
        float gradient[] = {cases[i][0], cases[i][0]};
        float weights[] = {cases[i][1], cases[i][1]};
        for (int step = 0; step < 3; step++)
            assert_ok(syn_optimizer_apply(optimizer, 0.05, 1, gradient, weights));
        assert_true(isfinite(weights[0]) && isfinite(weights[1]));
        syn_optimizer_free(optimizer);
    }
}

/* Neighbours with the same rates are two tensors all the same. */
static void lamb_measures_each_tensor_by_itself(void **state)
{
    (void)state;
    struct syn_layout *layout;
    struct syn_optimizer *both;
    struct syn_optimizer_options options;
    float together[] = {1, 2, 300, 400};
    float apart[] = {1, 2, 300, 400};
    const float gradient[] = {1, -1, 0.5F, 2};
    syn_settings_defaults(&syn_optimizer_settings, &options);
    options.optimizer = "lamb";
    assert_ok(syn_layout_new(&layout));
    assert_ok(syn_layout_add(layout, "a", 2));
    assert_ok(syn_layout_add(layout, "b", 2));
    assert_ok(syn_optimizer_open_layout(&options, layout, &both));
    assert_ok(syn_optimizer_apply(both, 0.1, 1, gradient, together));
    for (int i = 0; i < 4; i += 2) {
        struct syn_optimizer *one = opened();
        assert_ok(syn_optimizer_apply(one, 0.1, 1, gradient + i, apart + i));
        syn_optimizer_free(one);
    }
    assert_memory_equal(together, apart, sizeof apart);
    syn_optimizer_free(both);
    syn_layout_free(layout);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(lamb_moves_a_tensor_without_a_length_by_adams_step),
        cmocka_unit_test(lamb_stays_finite_at_the_ends_of_the_range),
        cmocka_unit_test(lamb_measures_each_tensor_by_itself),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

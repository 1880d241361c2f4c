/* The flat parameter space: places, owners, hash, and what it refuses. */
#include "check.h"

#include <math.h>
#include <string.h>

#include <syncopate/layout.h>

static struct syn_layout *three_tensors(const char *second)
{
    struct syn_layout *layout;
    assert_ok(syn_layout_new(&layout));
    assert_ok(syn_layout_add(layout, "a", 3));
    assert_ok(syn_layout_add(layout, second, 0));
    assert_ok(syn_layout_add(layout, "c", 2));
    return layout;
}

static void tensors_lie_one_after_the_other(void **state)
{
    (void)state;
    struct syn_layout *layout = three_tensors("b");
    assert_int_equal(syn_layout_size(layout), 5);
    assert_int_equal(syn_layout_count(layout), 3);
    assert_int_equal(syn_layout_tensor(layout, 2).offset, 3);
    assert_string_equal(syn_layout_tensor(layout, 2).name, "c");
    syn_layout_free(layout);
}

static void every_entry_has_the_tensor_that_holds_it(void **state)
{
    (void)state;
    struct syn_layout *layout = three_tensors("b");
    static const size_t owner[] = {0, 0, 0, 2, 2};
    for (size_t i = 0; i < 5; i++)
        assert_int_equal(syn_layout_find(layout, i), owner[i]);
    syn_layout_free(layout);
}

static void layouts_with_another_name_or_size_hash_differently(void **state)
{
    (void)state;
    struct syn_layout *one = three_tensors("b");
    struct syn_layout *same = three_tensors("b");
    struct syn_layout *other = three_tensors("d");
    assert_true(syn_layout_hash(one) == syn_layout_hash(same));
    assert_false(syn_layout_hash(one) == syn_layout_hash(other));
    assert_ok(syn_layout_add(same, "e", 1));
    assert_false(syn_layout_hash(one) == syn_layout_hash(same));
    syn_layout_free(one);
    syn_layout_free(same);
    syn_layout_free(other);
}

static void bad_names_and_sizes_are_refused(void **state)
{
    (void)state;
    struct syn_layout *layout = three_tensors("b");
    char name[300];
    memset(name, 'x', sizeof name - 1);
    name[sizeof name - 1] = '\0';
    assert_status(SYN_INVALID, syn_layout_add(layout, "a", 1));
    assert_status(SYN_INVALID, syn_layout_add(layout, "", 1));
    assert_status(SYN_INVALID, syn_layout_add(layout, name, 1));
    assert_status(SYN_INVALID, syn_layout_add(layout, "huge", UINT32_MAX));
    assert_int_equal(syn_layout_size(layout), 5);
    syn_layout_free(layout);
    syn_layout_free(NULL);
}

static void layouts_with_another_policy_hash_differently(void **state)
{
    (void)state;
    static const struct syn_tensor_policy policies[] = {
        {0}, {.is_dense = true}, {.is_frozen = true}, {.density = 0.5}, {.density = 0.25}};
    enum { POLICIES = sizeof policies / sizeof policies[0] };
    uint64_t hashes[POLICIES];
    struct syn_layout *layout = three_tensors("b");
    uint64_t plain = syn_layout_hash(layout);
    for (size_t i = 0; i < POLICIES; i++) {
        assert_ok(syn_layout_set_policy(layout, 2, policies[i]));
        hashes[i] = syn_layout_hash(layout);
        for (size_t j = 0; j < i; j++)
            assert_false(hashes[i] == hashes[j]);
    }
    assert_true(hashes[0] == plain);
    syn_layout_free(layout);
}

static void a_copy_has_the_policies_of_its_original(void **state)
{
    (void)state;
    struct syn_layout *copy;
    struct syn_layout *layout = three_tensors("b");
    assert_ok(syn_layout_set_policy(layout, 2, (struct syn_tensor_policy){.density = 0.5}));
    assert_ok(syn_layout_copy(layout, &copy));
    assert_true(syn_layout_policy(copy, 2).density == 0.5);
    assert_true(syn_layout_policy(copy, 0).density == 0);
    syn_layout_free(layout);
    syn_layout_free(copy);
}

static void bad_policies_are_refused(void **state)
{
    (void)state;
    static const struct {
        struct syn_tensor_policy policy;
        const char *cause;
    } cases[] = {
        {{.density = 1.5}, "density 1.5 for tensor \"c\"; expected 0 to 1"},
        {{.density = -1}, "density -1 for tensor \"c\"; expected 0 to 1"},
        {{.density = NAN}, "density nan for tensor \"c\"; expected 0 to 1"},
        {{.is_dense = true, .is_frozen = true},
         "tensor \"c\" is to be dense, frozen; expected one of dense, frozen and density"},
        {{.is_dense = true, .density = 0.5},
         "tensor \"c\" is to be dense, density 0.5; expected one of dense, frozen and density"},
    };
    struct syn_layout *layout = three_tensors("b");
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        assert_status(SYN_INVALID, syn_layout_set_policy(layout, 2, cases[i].policy));
        assert_string_equal(syn_error_text(), cases[i].cause);
        assert_true(syn_layout_policy(layout, 2).density == 0);
    }
    syn_layout_free(layout);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(tensors_lie_one_after_the_other),
        cmocka_unit_test(every_entry_has_the_tensor_that_holds_it),
        cmocka_unit_test(layouts_with_another_name_or_size_hash_differently),
        cmocka_unit_test(bad_names_and_sizes_are_refused),
        cmocka_unit_test(layouts_with_another_policy_hash_differently),
        cmocka_unit_test(a_copy_has_the_policies_of_its_original),
        cmocka_unit_test(bad_policies_are_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

/* A host that writes decimal commas: settings, JSON and messages keep their points. */
#include "check.h"

#include <math.h>
#include <string.h>

#include <syncopate/recipe.h>
#include <syncopate/text.h>
#include <syncopate/worker.h>

#include "locale/comma.h"

static const struct syn_settings_table *const tables[] = {
    &syn_group_settings, &syn_reducer_settings, &syn_optimizer_settings, &syn_worker_settings};

/* Room for the options of any table. */
union options {
    struct syn_group_options group;
    struct syn_reducer_options reducer;
    struct syn_optimizer_options optimizer;
    struct syn_worker_options worker;
};

static int enter(void **state)
{
    (void)state;
    return comma_enter() ? 0 : -1;
}

static int leave(void **state)
{
    (void)state;
    comma_leave();
    return 0;
}

static void the_host_does_write_commas(void **state)
{
    (void)state;
    char text[16];
    snprintf(text, sizeof text, "%.1f", 0.5);
    assert_string_equal(text, "0,5");
}

static void defaults_and_their_json_are_those_of_any_locale(void **state)
{
    (void)state;
    for (size_t t = 0; t < sizeof tables / sizeof tables[0]; t++) {
        static union options options;
        static char here[8192];
        static char plain[8192];
        memset(&options, 0xa5, sizeof options);
        syn_settings_defaults(tables[t], &options);
        syn_settings_json(tables[t], &options, here, sizeof here);
        comma_leave();
        memset(&options, 0x5a, sizeof options);
        syn_settings_defaults(tables[t], &options);
        syn_settings_json(tables[t], &options, plain, sizeof plain);
        assert_true(comma_enter());
        assert_string_equal(here, plain);
    }
}

static void numbers_have_points_wherever_they_are_typed(void **state)
{
    (void)state;
    struct syn_reducer_options options;
    syn_reducer_defaults(&options);
    assert_true(options.density == 0.001);
    assert_ok(syn_settings_set(&syn_reducer_settings, &options, "density", "0.01"));
    assert_true(options.density == 0.01);
    assert_status(SYN_INVALID,
                  syn_settings_set(&syn_reducer_settings, &options, "density", "0,02"));
    assert_true(options.density == 0.01);
    assert_ok(syn_recipe_apply("gtopk", &options));
}

static void messages_have_points(void **state)
{
    (void)state;
    struct syn_reducer_options options;
    syn_reducer_defaults(&options);
    options.density = 1.5;
    assert_status(SYN_INVALID, syn_settings_check(&syn_reducer_settings, &options));
    assert_non_null(strstr(syn_error_text(), "\"1.5\""));
    syn_reducer_defaults(&options);
    options.select = "topk";
    options.exchange = "allgather";
    options.density = 0.5;
    options.density_max = 0.25;
    assert_status(SYN_INVALID, syn_reducer_check(&options));
    assert_non_null(strstr(syn_error_text(), "density-max 0.25 is below density 0.5"));
}

static void the_hosts_own_locale_stays(void **state)
{
    (void)state;
    char text[16];
    char *end;
    assert_int_equal(syn_text_print(text, sizeof text, "%.2f", 0.25), 4);
    assert_string_equal(text, "0.25");
    assert_true(syn_text_number("0.25x", &end) == 0.25);
    assert_string_equal(end, "x");
    the_host_does_write_commas(state);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_host_does_write_commas),
        cmocka_unit_test(defaults_and_their_json_are_those_of_any_locale),
        cmocka_unit_test(numbers_have_points_wherever_they_are_typed),
        cmocka_unit_test(messages_have_points),
        cmocka_unit_test(the_hosts_own_locale_stays),
    };
    return cmocka_run_group_tests(tests, enter, leave);
}

/* Settings rows: what may be typed, what is refused, and that a dump reads back as it was. */
#include "check.h"

#include <math.h>
#include <string.h>

#include "paint.h"

static void defaults_come_from_the_rows(void **state)
{
    (void)state;
    struct paint paint;
    syn_settings_defaults(&table, &paint);
    assert_true(paint.gloss == 0.001);
    assert_int_equal(paint.coat_bytes, 4096);
    assert_false(paint.is_wet);
    assert_string_equal(paint.colour, "green");
    assert_string_equal(paint.maker, "");
}

static void dashes_and_underscores_are_the_same(void **state)
{
    (void)state;
    struct paint paint;
    syn_settings_defaults(&table, &paint);
    assert_ok(syn_settings_set(&table, &paint, "coat-bytes", "2M"));
    assert_int_equal(paint.coat_bytes, 2 << 20);
    assert_true(syn_settings_is_switch(&table, "is-wet"));
}

static void bad_values_are_refused_and_change_nothing(void **state)
{
    (void)state;
    static const char *const bad[][2] = {
        {"gloss", "1.5"},      {"gloss", "nan"},
        {"gloss", "0.1x"},     {"gloss", ""},
        {"coat_bytes", "0"},   {"coat_bytes", "-1"},
        {"coat_bytes", "9T"},  {"coat_bytes", "99999999999G"},
        {"is_wet", "perhaps"}, {"colour", "blue"},
        {"colour", ""},        {"nothing", "1"},
    };
    struct paint before;
    memset(&before, 0, sizeof before);
    syn_settings_defaults(&table, &before);
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        struct paint paint = before;
        assert_status(SYN_INVALID, syn_settings_set(&table, &paint, bad[i][0], bad[i][1]));
        assert_memory_equal(&paint, &before, sizeof paint);
    }
}

static void a_refusal_names_the_value_and_what_was_expected(void **state)
{
    (void)state;
    struct paint paint;
    syn_settings_defaults(&table, &paint);
    assert_status(SYN_INVALID, syn_settings_set(&table, &paint, "colour", "blue"));
    assert_non_null(strstr(syn_error_text(), "blue"));
    assert_non_null(strstr(syn_error_text(), "red, green"));
    assert_status(SYN_INVALID, syn_settings_set(&table, &paint, "coat_bytes", "0"));
    assert_non_null(strstr(syn_error_text(), "coat-bytes"));
}

static void options_filled_by_hand_are_checked(void **state)
{
    (void)state;
    struct paint paint;
    char colour[] = "red";
    syn_settings_defaults(&table, &paint);
    paint.colour = colour;
    assert_ok(syn_settings_check(&table, &paint));
    assert_ptr_equal(paint.colour, colours(0));
    paint.gloss = NAN;
    assert_status(SYN_INVALID, syn_settings_check(&table, &paint));
    paint.gloss = 0.5;
    paint.colour = NULL;
    assert_status(SYN_INVALID, syn_settings_check(&table, &paint));
}

static void json_is_the_same_for_the_same_options(void **state)
{
    (void)state;
    struct paint paint;
    char text[512];
    syn_settings_defaults(&table, &paint);
    assert_ok(syn_settings_set(&table, &paint, "maker", "a\"b\\c\n"));
    size_t length = syn_settings_json(&table, &paint, text, sizeof text);
    assert_int_equal(length, strlen(text));
    assert_string_equal(text, "{\"gloss\": 0.001, \"coat_bytes\": 4096, \"is_wet\": false, "
                              "\"colour\": \"green\", \"maker\": \"a\\\"b\\\\c\\u000a\"}");
    assert_int_equal(syn_settings_json(&table, &paint, NULL, 0), length);
}

static void help_tells_every_flag_with_default_and_choices(void **state)
{
    (void)state;
    char text[1024];
    syn_settings_help(&table, text, sizeof text);
    assert_non_null(strstr(text, "--coat-bytes N"));
    assert_non_null(strstr(text, "red|green"));
    assert_non_null(strstr(text, "[0.001]"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(defaults_come_from_the_rows),
        cmocka_unit_test(dashes_and_underscores_are_the_same),
        cmocka_unit_test(bad_values_are_refused_and_change_nothing),
        cmocka_unit_test(a_refusal_names_the_value_and_what_was_expected),
        cmocka_unit_test(options_filled_by_hand_are_checked),
        cmocka_unit_test(json_is_the_same_for_the_same_options),
        cmocka_unit_test(help_tells_every_flag_with_default_and_choices),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

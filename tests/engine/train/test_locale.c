/* Training inside a host that writes decimal commas: same weights, files that any program reads. */
#include "check.h"

#include <ctype.h>
#include <stdio.h>
#include <string.h>

#include "locale/comma.h"
#include "runs.h"

/* Two digits with a comma between them, which valid JSON of ours never has. */
static bool has_decimal_comma(const char *text)
{
    for (const char *at = strchr(text, ','); at; at = strchr(at + 1, ','))
        if (at > text && isdigit((unsigned char)at[-1]) && isdigit((unsigned char)at[1]))
            return true;
    return false;
}

static void assert_points_in(const char *directory, const char *name)
{
    char path[RUNS_PATH];
    static char text[65536];
    snprintf(path, sizeof path, "%s/%s", directory, name);
    FILE *file = fopen(path, "r");
    assert_non_null(file);
    size_t length = fread(text, 1, sizeof text - 1, file);
    fclose(file);
    text[length] = '\0';
    assert_true(length > 0);
    assert_non_null(strchr(text, '.'));
    if (has_decimal_comma(text))
        fail_msg("%s: %s", name, text);
}

static struct syn_train_options fractional(const char *name)
{
    struct syn_train_options options = runs_of(RUNS_SMALL, name);
    runs_use_algo(&options, "gtopk");
    assert_ok(syn_settings_set(&syn_train_settings, &options, "lr_schedule", "step"));
    assert_ok(syn_settings_set(&syn_train_settings, &options, "lr_milestones", "0.25,0.5"));
    options.workers = 2;
    return options;
}

static void a_run_comes_to_the_same_weights_and_files_have_points(void **state)
{
    (void)state;
    static const char *const files[] = {"settings.json", "metrics.jsonl", "summary.json"};
    struct syn_train_options options = fractional("plain");
    struct syn_train_summary plain = runs_train(&options);
    assert_true(comma_enter());
    options = fractional("comma");
    /* Milestones are a list with commas, which settings.json has as they are. */
    assert_ok(syn_settings_set(&syn_train_settings, &options, "lr_schedule", "cosine"));
    assert_ok(syn_settings_set(&syn_train_settings, &options, "lr_milestones", ""));
    runs_train(&options);
    for (size_t i = 0; i < 3; i++)
        assert_points_in(options.out, files[i]);
    options = fractional("milestones");
    struct syn_train_summary comma = runs_train(&options);
    assert_true(comma.weights_hash == plain.weights_hash);
    options = runs_resumed(options.out);
    options.overwrite = false;
    comma = runs_train(&options);
    assert_true(comma.weights_hash == plain.weights_hash);
    comma_leave();
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_run_comes_to_the_same_weights_and_files_have_points),
    };
    return cmocka_run_group_tests(tests, runs_begin, runs_end);
}

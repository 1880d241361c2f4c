/* Flags are read twice: once to learn the recipe, and again over what the recipe has set. */
#include "bench_flags.h"

#include <string.h>

#include <syncopate/recipe.h>

static const struct syn_setting rows[] = {
    SYN_SETTING_ROW(struct bench_flags, COUNT, n, "25000000", 1, 4294967295.0, NULL,
                    "floats in the gradient"),
    SYN_SETTING_ROW(struct bench_flags, COUNT, repeats, "11", 1, 10000, NULL,
                    "how often to measure; the median counts"),
    SYN_SETTING_ROW(struct bench_flags, COUNT, workers, "4", 1, 1024, NULL,
                    "threads that are workers; under mpirun its ranks count instead"),
    SYN_SETTING_ROW(struct bench_flags, CHOICE, recipe, "topk", 0, 0, syn_recipe_name,
                    "the method whose settings are the defaults below"),
    SYN_SETTING_ROW(struct bench_flags, SWITCH, json, "off", 0, 1, NULL, "one JSON object a line"),
};
static const struct syn_settings_table table = {"Bench", rows, sizeof rows / sizeof rows[0]};

enum syn_status bench_flags_parse(const struct command *self, const char *recipe, int argc,
                                  char **argv, struct bench_flags *flags)
{
    const struct flag_set sets[] = {{&table, flags}, {&syn_reducer_settings, &flags->reducer}};
    struct flags words = {0};
    syn_settings_defaults(&table, flags);
    syn_settings_defaults(&syn_reducer_settings, &flags->reducer);
    enum syn_status status = syn_settings_set(&table, flags, "recipe", recipe);
    if (status == SYN_OK)
        status = flags_read(self, sets, 2, argc, argv, &words);
    flags->wants_help = words.wants_help;
    if (status != SYN_OK || words.wants_help)
        return status;
    if (words.word_count > 0) {
        usage_error("unexpected argument \"%s\"", words.words[0]);
        return SYN_INVALID;
    }
    status = syn_recipe_apply(flags->recipe, &flags->reducer);
    return status == SYN_OK ? flags_read(self, sets, 2, argc, argv, &words) : status;
}

/* Flags are read twice: first to find the recipe, then again on top of the recipe's settings. */
#include "bench_flags.h"

#include <string.h>

#include <syncopate/recipe.h>

enum { N, REPEATS, WORKERS, RECIPE, JSON, ROWS };

static const struct syn_setting usual_rows[ROWS] = {
    [N] = SYN_SETTING_ROW(struct bench_flags, COUNT, n, "", 1, 4294967295.0, NULL,
                          "use a gradient of this many floats"),
    [REPEATS] = SYN_SETTING_ROW(struct bench_flags, COUNT, repeats, "11", 1, 10000, NULL,
                                "measure this many times and report the median"),
    [WORKERS] = SYN_SETTING_ROW(
        struct bench_flags, COUNT, workers, "4", 1, 1024, NULL,
        "use this many workers, as threads; ignored under mpirun, where ranks are the workers"),
    [RECIPE] = SYN_SETTING_ROW(struct bench_flags, CHOICE, recipe, "", 0, 0, syn_recipe_name,
                               "use this method's defaults for the flags below"),
    [JSON] = SYN_SETTING_ROW(struct bench_flags, SWITCH, json, "off", 0, 1, NULL,
                             "print one JSON object per line"),
};

static bool uses(const char *recipe, const char *exchange)
{
    struct syn_reducer_options options;
    syn_reducer_defaults(&options);
    return syn_recipe_apply(recipe, &options) == SYN_OK &&
           strncmp(exchange, options.exchange, strlen(options.exchange)) == 0;
}

/* The first recipe that uses the exchange or the one it is a variant of (gtopk for gtopk-tree). An
 * exchange that no recipe uses is measured with lists. */
static const char *recipe_with(const char *exchange)
{
    for (size_t i = 0; syn_recipe_name(i); i++)
        if (uses(syn_recipe_name(i), exchange))
            return syn_recipe_name(i);
    return "topk";
}

enum syn_status bench_flags_parse(const struct command *self, const char *n, const char *recipe,
                                  int argc, char **argv, struct bench_flags *flags)
{
    struct syn_setting rows[ROWS];
    struct syn_settings_table table = {"Bench", rows, ROWS};
    const struct flag_set sets[] = {{&table, flags}, {&syn_reducer_settings, &flags->reducer}};
    struct flags words = {0};
    memcpy(rows, usual_rows, sizeof rows);
    rows[N].initial = n;
    syn_reducer_defaults(&flags->reducer);
    rows[RECIPE].initial = recipe ? recipe : recipe_with(flags->reducer.exchange);
    syn_settings_defaults(&table, flags);
    flags->recipe = recipe;
    enum syn_status status = flags_read(self, sets, 2, argc, argv, &words);
    flags->wants_help = words.wants_help;
    if (status != SYN_OK || words.wants_help)
        return status;
    if (words.word_count > 0) {
        usage_error("unexpected argument \"%s\"", words.words[0]);
        return SYN_INVALID;
    }
    if (!flags->recipe)
        flags->recipe = recipe_with(flags->reducer.exchange);
    status = syn_recipe_apply(flags->recipe, &flags->reducer);
    return status == SYN_OK ? flags_read(self, sets, 2, argc, argv, &words) : status;
}

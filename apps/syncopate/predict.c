/* syncopate predict: classifies images, or continues a text, with trained weights. */
#include <math.h>
#include <stdio.h>

#include <syncopate/engine/use.h>

#include "command.h"
#include "trained.h"

struct options {
    uint64_t words;
    double temperature;
    uint64_t seed;
};

static const struct syn_setting rows[] = {
    SYN_SETTING_ROW(struct options, COUNT, words, "30", 1, 100000, NULL,
                    "generate this many words (text)"),
    SYN_SETTING_ROW(
        struct options, REAL, temperature, "1", 0.01, 100, NULL,
        "sample at this temperature: below 1 favours likely words, above 1 unlikely ones (text)"),
    SYN_SETTING_ROW(struct options, COUNT, seed, "1", 0, INFINITY, NULL,
                    "sample words with this random seed (text)"),
};
static const struct syn_settings_table table = {"Predict", rows, sizeof rows / sizeof rows[0]};

static enum syn_status show_image(struct syn_predictor *predictor, const char *path)
{
    struct syn_guess guesses[SYN_GUESSES];
    size_t count;
    enum syn_status status = syn_predict_image(predictor, path, guesses, &count);
    if (status != SYN_OK)
        return status;
    printf("%s:", path);
    for (size_t i = 0; i < count; i++)
        printf("%s %s %.1f %%", i ? "," : "", guesses[i].name, 100 * guesses[i].share);
    printf("\n");
    return SYN_OK;
}

static enum syn_status show_words(struct syn_predictor *predictor, const struct options *options,
                                  const char *path)
{
    const char *text;
    enum syn_status status = syn_predict_words(predictor, path, (size_t)options->words,
                                               options->temperature, options->seed, &text);
    if (status == SYN_OK)
        printf("%s\n", text);
    return status;
}

/* Show every file, up to the first that cannot be read. */
static enum syn_status show_all(struct syn_predictor *predictor, const struct options *options,
                                const struct flags *flags)
{
    enum syn_status status = SYN_OK;
    bool on_text = syn_predictor_on_text(predictor);
    if (flags->word_count == 1 && on_text)
        return show_words(predictor, options, NULL);
    if (flags->word_count == 1) {
        usage_error("predict needs one or more files with images after the run");
        return SYN_INVALID;
    }
    for (size_t i = 1; i < flags->word_count && status == SYN_OK; i++)
        status = on_text ? show_words(predictor, options, flags->words[i])
                         : show_image(predictor, flags->words[i]);
    return status;
}

static int run(const struct command *self, int argc, char **argv)
{
    struct options options;
    struct trained trained = {0};
    struct syn_predictor *predictor = NULL;
    struct flags flags;
    const struct flag_set own = {&table, &options};
    enum syn_status status = trained_open(self, &own, argc, argv, &trained, &flags);
    if (status != SYN_OK || flags.wants_help)
        return exit_code(status);
    status = syn_predictor_open(&trained.options, trained.weights, &predictor);
    if (status == SYN_OK)
        status = show_all(predictor, &options, &flags);
    syn_predictor_free(predictor);
    trained_close(&trained);
    return exit_code(status);
}

const struct command command_predict = {"predict",
                                        "classify images, or continue a text, with trained weights",
                                        "RUN|FILE INPUT... [--best] [--words N]", run};

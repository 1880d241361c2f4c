/* syncopate evaluate: measures the weights of a run, or of a file, on a data set. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include <syncopate/engine/use.h>

#include "command.h"
#include "trained.h"

#define MOST_SHOWN 20 /* most classes in a table that fits a terminal */

static const char *part_name(size_t i)
{
    static const char *const names[] = {"train", "valid", "test"}; /* as enum syn_data_part */
    return i < 3 ? names[i] : NULL;
}

struct options {
    const char *part;
    bool json;
};

static const struct syn_setting rows[] = {
    SYN_SETTING_ROW(struct options, CHOICE, part, "test", 0, 0, part_name,
                    "evaluate on this part of the data"),
    SYN_SETTING_ROW(struct options, SWITCH, json, "off", 0, 1, NULL, "print one JSON object"),
};
static const struct syn_settings_table table = {"Evaluate", rows, sizeof rows / sizeof rows[0]};

static enum syn_data_part part_of(const char *name)
{
    size_t i = 0;
    while (strcmp(part_name(i), name) != 0)
        i++;
    return (enum syn_data_part)i;
}

static double share(uint64_t count, const struct syn_quality *quality)
{
    return (double)count / (double)quality->labels;
}

static void print_confusion(const struct syn_quality *quality)
{
    size_t classes = quality->classes;
    if (!quality->confusion || classes > MOST_SHOWN)
        return;
    printf("rows: true class, columns: predicted class\n%14s", "");
    for (size_t guess = 0; guess < classes; guess++)
        printf(" %6zu", guess);
    printf("\n");
    for (size_t label = 0; label < classes; label++) {
        printf("%3zu %-10.10s", label, quality->names ? quality->names[label] : "");
        for (size_t guess = 0; guess < classes; guess++)
            printf(" %6llu", (unsigned long long)quality->confusion[label * classes + guess]);
        printf("\n");
    }
}

static void print_words(const char *path, const struct trained *trained, const char *part,
                        const struct syn_quality *quality)
{
    const struct syn_train_options *options = &trained->options;
    printf("%s: %s on %s, %s part: ", path, options->model, options->data.data, part);
    if (quality->on_text)
        printf("perplexity %.2f, ", exp(quality->loss));
    printf("top-1 %.2f %%, top-5 %.2f %%, loss %.4f on %llu %s\n",
           100 * share(quality->correct, quality), 100 * share(quality->among_five, quality),
           quality->loss, (unsigned long long)quality->labels,
           quality->on_text ? "words" : "images");
    print_confusion(quality);
}

static void print_json(const struct trained *trained, const char *part,
                       const struct syn_quality *quality)
{
    size_t classes = quality->classes;
    const struct syn_weights_info *info = syn_weights_info(trained->weights);
    printf("{\"model\": \"%s\", \"data\": \"%s\", \"part\": \"%s\", \"step\": %llu, "
           "\"labels\": %llu, \"accuracy\": %.9g, \"top5\": %.9g, \"loss\": %.9g, "
           "\"perplexity\": %.9g",
           trained->options.model, trained->options.data.data, part, (unsigned long long)info->step,
           (unsigned long long)quality->labels, share(quality->correct, quality),
           share(quality->among_five, quality), quality->loss, exp(quality->loss));
    for (size_t label = 0; quality->confusion && label < classes; label++) {
        printf("%s[", label ? ", " : ", \"confusion\": [");
        for (size_t guess = 0; guess < classes; guess++)
            printf("%s%llu", guess ? ", " : "",
                   (unsigned long long)quality->confusion[label * classes + guess]);
        printf("]%s", label + 1 == classes ? "]" : "");
    }
    printf("}\n");
}

static int run(const struct command *self, int argc, char **argv)
{
    struct options options;
    struct trained trained = {.needs_data = true};
    struct syn_quality quality;
    struct flags flags;
    const struct flag_set own = {&table, &options};
    enum syn_status status = trained_open(self, &own, argc, argv, &trained, &flags);
    if (status != SYN_OK || flags.wants_help)
        return exit_code(status);
    if (flags.word_count != 1) {
        trained_close(&trained);
        return usage_error("evaluate takes one run or file of weights; got %zu arguments",
                           flags.word_count);
    }
    status = syn_use_evaluate(&trained.options, trained.weights, part_of(options.part), &quality);
    if (status == SYN_OK && options.json)
        print_json(&trained, options.part, &quality);
    else if (status == SYN_OK)
        print_words(flags.words[0], &trained, options.part, &quality);
    if (status == SYN_OK)
        syn_quality_free(&quality);
    trained_close(&trained);
    return exit_code(status);
}

const struct command command_evaluate = {
    "evaluate", "measure loss and accuracy of trained weights on a data set",
    "RUN|FILE [--data NAME] [--best] [--json]", run};

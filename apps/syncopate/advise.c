/* syncopate advise: which method to use here, before a run is started. */
#include <math.h>
#include <stdio.h>

#include <syncopate/engine/advise.h>

#include "train_flags.h"

struct show_options {
    bool json;
};

static const struct syn_setting show_rows[] = {
    SYN_SETTING_ROW(struct show_options, SWITCH, json, "off", 0, 1, NULL, "print one JSON object"),
};
static const struct syn_settings_table show_settings = {"Output", show_rows, 1};

static void print_json(const struct syn_advice *advice)
{
    char text[4096];
    syn_advice_json(advice, text, sizeof text);
    puts(text);
}

static void print_measured(const struct syn_advice *advice)
{
    const struct syn_links_measure *links = &advice->links;
    double bytes = 4 * (double)advice->params / (double)advice->workers;
    double length_ms = links->together_ms - links->together_latency_ms;
    if (length_ms <= 0) /* on a busy machine an empty message may take longer than a full one */
        length_ms = links->together_ms;
    printf("%zu workers, %zu parameters\n", advice->workers, advice->params);
    printf(
        "  a pair of workers: %.3f ms and %.0f Mbit/s; slowest %.3f ms, and %.0f Mbit/s from %zu "
        "to %zu\n",
        links->latency_ms, links->bytes_per_ms / 125, links->worst_latency_ms,
        links->worst_bytes_per_ms / 125, links->worst_from, links->worst_to);
    printf("  all at once: %.3f ms and %.0f Mbit/s each\n", links->together_latency_ms,
           bytes / length_ms / 125);
    printf(
        "  without exchange: %.1f ms per step, alone %.1f ms, until the slowest is done %.1f ms\n",
        advice->compute_ms, advice->alone_ms, advice->together_ms);
    if (!isnan(advice->sparse_ms))
        printf("  the same with selection, coding and sparse update: %.1f ms\n", advice->sparse_ms);
    printf("\n");
}

static void print_words(const struct syn_advice *advice)
{
    print_measured(advice);
    printf("%-14s %8s %14s %18s %19s %16s\n", "method", "ms/step", "with warm-ups",
           "to equal accuracy", "of computing alone", "KB sent by each");
    for (size_t i = 0; i < advice->count; i++) {
        const struct syn_advice_row *row = &advice->rows[i];
        printf("%-14s %8.1f %14.1f %18.1f %17.0f %% %16.1f%s\n", row->name, row->step_ms,
               row->run_ms, row->even_ms, 100 * advice->compute_ms / row->step_ms,
               row->bytes_out / 1000, i == advice->best ? "  <-" : "");
    }
    printf("\n%s%s\n", advice->is_dense_fine ? "DO NOT COMPRESS: " : "", advice->verdict);
}

/* The flags that most people need. */
static const char *const common[] = {"model", "data",    "data_dir", "workers",
                                     "batch", "threads", "density",  "optimizer"};

/* Read flags as train does: on top of the model's usual training settings. */
static enum syn_status read_options(const struct command *self, int argc, char **argv,
                                    struct syn_train_options *options, struct show_options *show,
                                    struct flags *flags)
{
    struct flag_set sets[TRAIN_FLAG_SETS + 1] = {[TRAIN_FLAG_SETS] = {&show_settings, show}};
    size_t count = sizeof sets / sizeof sets[0];
    train_flag_sets(options, sets);
    enum help_form help = flags_take_help(&argc, argv);
    enum syn_status status = train_flags_parse(self, sets, count, argc, argv, options, flags);
    if (status != SYN_OK)
        return status;
    status = syn_train_defaults(options->model, options);
    if (status == SYN_OK)
        status = flags_read(self, sets, count, argc, argv, flags);
    flags->wants_help = help;
    if (status == SYN_OK && help != HELP_NONE)
        flags_help(help, self, sets, count, common, sizeof common / sizeof common[0]);
    return status;
}

static int run(const struct command *self, int argc, char **argv)
{
    struct syn_train_options options;
    struct show_options show;
    struct syn_advice advice;
    struct flags flags;
    enum syn_status status = read_options(self, argc, argv, &options, &show, &flags);
    if (status != SYN_OK || flags.wants_help)
        return exit_code(status);
    status = refuse_lone_process(argc, argv);
    if (status == SYN_OK)
        status = syn_advise(&options, &advice);
    if (status == SYN_OK && advice.is_first && show.json)
        print_json(&advice);
    else if (status == SYN_OK && advice.is_first)
        print_words(&advice);
    return exit_code(status);
}

const struct command command_advise = {"advise", "recommend a method for this network",
                                       "[--model M] [--batch B] [--workers P] ...", run};

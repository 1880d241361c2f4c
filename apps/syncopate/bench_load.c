/* syncopate bench load: how fast batches are made from a data set, without a model that uses
 * them. */
#include <stdio.h>
#include <time.h>

#include <syncopate/engine/data.h>

#include "command.h"

struct options {
    uint64_t batch;
    uint64_t loader_threads;
    uint64_t epochs;
    bool augment;
    bool json;
};

static const struct syn_setting rows[] = {
    SYN_SETTING_ROW(struct options, COUNT, batch, "32", 1, 1000000, NULL,
                    "make batches of this many examples"),
    SYN_SETTING_ROW(struct options, COUNT, loader_threads, "1", 1, 64, NULL,
                    "make batches on this many threads"),
    SYN_SETTING_ROW(struct options, COUNT, epochs, "1", 1, 1000, NULL,
                    "read the training part this many times"),
    SYN_SETTING_ROW(struct options, SWITCH, augment, "on", 0, 1, NULL,
                    "crop and flip at random, as for training"),
    SYN_SETTING_ROW(struct options, SWITCH, json, "off", 0, 1, NULL, "print one JSON object"),
};
static const struct syn_settings_table table = {"Load", rows, sizeof rows / sizeof rows[0]};

struct result {
    uint64_t examples;
    double seconds;
    double processor; /* CPU seconds of all threads */
};

static double read_clock(clockid_t which)
{
    struct timespec now;
    clock_gettime(which, &now);
    return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

static enum syn_status load(const struct syn_data *data, const struct options *options,
                            struct result *result)
{
    struct syn_loader *loader;
    struct syn_batch batch;
    struct syn_loader_options how = syn_loader_defaults(SYN_DATA_TRAIN, (size_t)options->batch);
    how.threads = (size_t)options->loader_threads;
    how.augment = options->augment;
    const double began = read_clock(CLOCK_MONOTONIC);
    const double used = read_clock(CLOCK_PROCESS_CPUTIME_ID);
    enum syn_status status = syn_loader_open(data, &how, &loader);
    if (status != SYN_OK)
        return status;
    *result = (struct result){0};
    const uint64_t batches = options->epochs * syn_loader_batches(loader);
    for (uint64_t i = 0; i < batches; i++) {
        syn_loader_next(loader, &batch);
        result->examples += batch.count;
    }
    result->seconds = read_clock(CLOCK_MONOTONIC) - began;
    result->processor = read_clock(CLOCK_PROCESS_CPUTIME_ID) - used;
    syn_loader_close(loader);
    return SYN_OK;
}

static int run(const struct command *self, int argc, char **argv)
{
    struct options options;
    struct syn_data_options data_options;
    struct flags flags;
    struct syn_data *data = NULL;
    struct result got;
    const struct flag_set sets[] = {{&table, &options}, {&syn_data_settings, &data_options}};
    enum syn_status status = flags_parse(self, sets, 2, argc, argv, &flags);
    if (status != SYN_OK || flags.wants_help)
        return exit_code(status);
    if (flags.word_count > 0)
        return usage_error("bench load takes flags only; got %s", flags.words[0]);
    status = syn_data_open(&data_options, &data);
    if (status == SYN_OK)
        status = load(data, &options, &got);
    syn_data_close(data);
    if (status != SYN_OK)
        return exit_code(status);
    const char *form =
        options.json ? "{\"examples\": %llu, \"threads\": %llu, \"seconds\": %.3f, "
                       "\"processor_seconds\": %.3f, \"examples_per_s\": %.1f, "
                       "\"examples_per_processor_s\": %.1f}\n"
                     : "%llu examples, %llu threads: %.2f s, %.2f s of processor; %.0f per second, "
                       "%.0f per second of processor\n";
    printf(form, (unsigned long long)got.examples, (unsigned long long)options.loader_threads,
           got.seconds, got.processor, (double)got.examples / got.seconds,
           (double)got.examples / got.processor);
    return EXIT_GOOD;
}

const struct command command_bench_load = {
    "load", "measure how fast batches are made from a data set",
    "--data folder --data-dir DIR [--loader-threads N] ...", run};

/* syncopate data: lists, fetches, checks and packs data sets. */
#include <signal.h>
#include <stdio.h>
#include <string.h>

#include <syncopate/engine/data.h>
#include <syncopate/log.h>

#include "command.h"
#include "progress.h"

struct data_flags {
    char dir[SYN_TEXT_BYTES];
    bool json;
};

static const struct syn_setting where_rows[] = {
    SYN_SETTING_ROW(struct data_flags, TEXT, dir, "", 0, 0, NULL,
                    "look for data sets in this directory, each in a folder named after it; empty: "
                    "$SYNCOPATE_DATA if set, otherwise data"),
    SYN_SETTING_ROW(struct data_flags, SWITCH, json, "off", 0, 1, NULL,
                    "print one JSON object instead (data list)"),
};
static const struct syn_settings_table all_flags = {"Flags", where_rows, 2};
static const struct syn_settings_table where_flags = {"Flags", where_rows, 1};

static volatile sig_atomic_t is_interrupted;

static void on_signal(int signal_number)
{
    (void)signal_number;
    is_interrupted = 1;
}

/* A progress bar for each task. */
struct bar {
    struct progress progress;
    char title[64];
    bool is_shown;
};

static void end_bar(struct bar *bar)
{
    if (bar->is_shown)
        progress_end(&bar->progress);
    bar->is_shown = false;
}

static bool on_progress(void *context, const char *what, uint64_t done, uint64_t total)
{
    struct bar *bar = context;
    if (!bar->is_shown || strcmp(bar->title, what) != 0 || bar->progress.total != total) {
        end_bar(bar);
        snprintf(bar->title, sizeof bar->title, "%s", what);
        progress_begin(&bar->progress, bar->title, total);
        bar->is_shown = true;
    }
    progress_tell(&bar->progress, done, NULL);
    return !is_interrupted;
}

/* Clear the bar before a message is printed. */
static void on_message(void *context, enum syn_log_level level, const char *text)
{
    end_bar(context);
    fprintf(stderr, "syncopate: %s%s\n", level == SYN_LOG_WARNING ? "warning: " : "", text);
}

/* From here on a bar is shown, and Ctrl-C asks the library to stop, so that it can clean up. */
static void begin_bar(struct bar *bar)
{
    struct sigaction action = {.sa_handler = on_signal};
    sigemptyset(&action.sa_mask);
    sigaction(SIGINT, &action, NULL);
    sigaction(SIGTERM, &action, NULL);
    syn_log_to(on_message, bar, SYN_LOG_INFO);
}

/* The parsed command line. */
struct request {
    struct data_flags options;
    struct flags flags;
    int code; /* exit code, if there is nothing more to do */
};

/* Read the command line; false if there is nothing more to do. */
static bool parse(const struct command *self, bool takes_names, int argc, char **argv,
                  struct request *request)
{
    const struct flag_set set = {takes_names ? &where_flags : &all_flags, &request->options};
    struct flags *flags = &request->flags;
    request->code = exit_code(flags_parse(self, &set, 1, argc, argv, flags));
    if (request->code != EXIT_GOOD || flags->wants_help)
        return false;
    if (takes_names == (flags->word_count > 0))
        return true;
    request->code =
        takes_names
            ? usage_error("data %s needs the name of a data set; see syncopate data list",
                          self->name)
            : usage_error("data %s: unexpected argument \"%.64s\"", self->name, flags->words[0]);
    return false;
}

/* Call act for every named data set, until one fails. */
static int for_each(const struct command *self, int argc, char **argv,
                    enum syn_status (*act)(const char *name, const char *directory, struct bar *))
{
    struct request request;
    struct bar bar = {.is_shown = false};
    if (!parse(self, true, argc, argv, &request))
        return request.code;
    begin_bar(&bar);
    enum syn_status status = SYN_OK;
    for (size_t i = 0; status == SYN_OK && i < request.flags.word_count; i++)
        status = act(request.flags.words[i], request.options.dir, &bar);
    return exit_code(status);
}

static enum syn_status get_one(const char *name, const char *directory, struct bar *bar)
{
    enum syn_status status = syn_data_get(name, directory, on_progress, bar);
    end_bar(bar);
    return status;
}

static int run_get(const struct command *self, int argc, char **argv)
{
    return for_each(self, argc, argv, get_one);
}

/* "60000 + 10000 images of 1 x 28 x 28, 10 classes" */
static void print_info(const struct syn_data_info *info)
{
    const size_t *count = info->count;
    printf("%s: ", info->name);
    if (info->kind == SYN_DATA_TOKENS)
        printf("%zu + %zu + %zu words to predict, vocabulary of %zu\n", count[SYN_DATA_TRAIN],
               count[SYN_DATA_VALID], count[SYN_DATA_TEST], info->outputs);
    else
        printf("%zu + %zu images of %zu x %zu x %zu, %zu %s\n", count[SYN_DATA_TRAIN],
               count[SYN_DATA_TEST], info->channels, info->height, info->width, info->outputs,
               info->kind == SYN_DATA_IMAGES ? "classes" : "numbers to predict");
}

static enum syn_status check_one(const char *name, const char *directory, struct bar *bar)
{
    struct syn_data_options options;
    struct syn_data *data;
    syn_data_defaults(&options, name);
    snprintf(options.data_dir, sizeof options.data_dir, "%s", directory);
    enum syn_status status = syn_data_check(&options, on_progress, bar);
    end_bar(bar);
    if (status != SYN_OK)
        return status;
    syn_log_to(on_message, bar, SYN_LOG_ERROR); /* warnings have already been shown */
    status = syn_data_open(&options, &data);
    if (status == SYN_OK) {
        print_info(syn_data_info(data));
        syn_data_close(data);
    }
    syn_log_to(on_message, bar, SYN_LOG_INFO);
    return status;
}

static int run_check(const struct command *self, int argc, char **argv)
{
    return for_each(self, argc, argv, check_one);
}

struct pack_flags {
    uint64_t size;
    char output[SYN_TEXT_BYTES];
};

static const struct syn_setting pack_rows[] = {
    SYN_SETTING_ROW(struct pack_flags, COUNT, size, "256", 1, 4096, NULL,
                    "make pictures of this height and width"),
    SYN_SETTING_ROW(struct pack_flags, TEXT, output, "", 0, 0, NULL,
                    "write this file (-o is the same)"),
};
static const struct syn_settings_table pack_table = {"Flags", pack_rows, 2};

static int run_pack(const struct command *self, int argc, char **argv)
{
    struct pack_flags options;
    const struct flag_set set = {&pack_table, &options};
    struct flags flags;
    struct bar bar = {.is_shown = false};
    static char long_form[] = "--output";
    flags_spell_out(argc, argv, long_form);
    int code = exit_code(flags_parse(self, &set, 1, argc, argv, &flags));
    if (code != EXIT_GOOD || flags.wants_help)
        return code;
    if (flags.word_count != 1 || !options.output[0])
        return usage_error("data pack needs a folder of pictures and -o FILE");
    begin_bar(&bar);
    enum syn_status status =
        syn_data_pack(flags.words[0], (size_t)options.size, options.output, on_progress, &bar);
    end_bar(&bar);
    return exit_code(status);
}

static void print_json(const char *directory)
{
    printf("{\"data\": [");
    for (size_t i = 0; syn_data_name(i); i++)
        printf("%s\n{\"name\": \"%s\", \"there\": %s, \"help\": \"%s\"}", i ? "," : "",
               syn_data_name(i), syn_data_is_there(syn_data_name(i), directory) ? "true" : "false",
               syn_data_help(i));
    printf("\n]}\n");
}

static int run_list(const struct command *self, int argc, char **argv)
{
    struct request request;
    if (!parse(self, false, argc, argv, &request))
        return request.code;
    if (request.options.json) {
        print_json(request.options.dir);
        return EXIT_GOOD;
    }
    for (size_t i = 0; syn_data_name(i); i++)
        printf("  %-14s %-6s %s\n", syn_data_name(i),
               syn_data_is_there(syn_data_name(i), request.options.dir) ? "ready" : "-",
               syn_data_help(i));
    return EXIT_GOOD;
}

static const struct command get = {"get", "fetch a data set, convert and check it",
                                   "NAME... [--dir D]", run_get};
static const struct command list = {"list", "list the data sets and whether each is available",
                                    "[--dir D] [--json]", run_list};
static const struct command check = {"check", "check the files of a data set", "NAME... [--dir D]",
                                     run_check};
static const struct command pack = {"pack", "decode a folder of pictures into one file",
                                    "FOLDER --size S -o FILE", run_pack};
static const struct command *const commands[] = {&get, &list, &check, &pack};

static int run(const struct command *self, int argc, char **argv)
{
    (void)self;
    return command_dispatch("syncopate data", commands, sizeof commands / sizeof commands[0], argc,
                            argv);
}

const struct command command_data = {"data", "get, list, check and pack data sets",
                                     "get|list|check|pack", run};

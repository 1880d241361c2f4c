/* A run records its model and its data. A file of weights records its model at best; its data set
 * is the usual one for that model unless another is requested. */
#include "trained.h"

#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "train_flags.h"

struct typed {
    char model[SYN_TEXT_BYTES];
    char model_file[SYN_TEXT_BYTES];
    uint64_t batch;
    uint64_t threads;
    bool best;
};

static const struct syn_setting rows[] = {
    SYN_SETTING_ROW(struct typed, TEXT, model, "", 0, 0, NULL,
                    "use this model for a file of weights that does not name its model"),
    SYN_SETTING_ROW(struct typed, TEXT, model_file, "", 0, 0, NULL,
                    "build the network that this file describes; needed if a C program built the "
                    "network, and for a file of weights of a network that a file describes"),
    SYN_SETTING_ROW(struct typed, COUNT, batch, "0", 0, 1000000, NULL,
                    "compute this many examples at once; 0: as in training"),
    SYN_SETTING_ROW(struct typed, COUNT, threads, "1", 1, 1024, NULL, "compute on this many cores"),
    SYN_SETTING_ROW(struct typed, SWITCH, best, "off", 0, 1, NULL,
                    "use the weights of the run's best evaluation instead of the last"),
};
static const struct syn_settings_table table = {"Weights", rows, sizeof rows / sizeof rows[0]};

static bool is_directory(const char *path)
{
    struct stat about;
    return stat(path, &about) == 0 && S_ISDIR(about.st_mode);
}

static bool is_data_set(const char *name)
{
    for (size_t i = 0; syn_data_name(i); i++)
        if (strcmp(syn_data_name(i), name) == 0)
            return true;
    return false;
}

/* A C program may have trained on data of its own, which cannot be opened here. */
static enum syn_status check_data(const char *path, const struct trained *trained)
{
    const char *data = syn_weights_info(trained->weights)->data;
    if (!data[0] || is_data_set(data))
        return SYN_OK;
    usage_error("%.256s was trained on \"%.64s\", data of another program; expected --data", path,
                data);
    return SYN_INVALID;
}

static enum syn_status open_run(const char *path, const struct typed *typed,
                                struct trained *trained)
{
    enum syn_status status = syn_weights_of_run(
        path, typed->best ? SYN_WEIGHTS_BEST : SYN_WEIGHTS_LAST, &trained->weights);
    if (status == SYN_OK)
        status = syn_train_recall(path, &trained->options);
    trained->options.resume[0] = '\0'; /* nothing is resumed here */
    return status;
}

static enum syn_status open_file(const char *path, const struct typed *typed,
                                 struct trained *trained)
{
    enum syn_status status = syn_weights_load(path, &trained->weights);
    if (status != SYN_OK)
        return status;
    const struct syn_weights_info *info = syn_weights_info(trained->weights);
    const char *model = typed->model_file[0] ? OWN_MODEL
                        : typed->model[0]    ? typed->model
                                             : info->model;
    if (!model[0]) {
        usage_error("%.256s does not name its model; use --model", path);
        return SYN_INVALID;
    }
    status = syn_train_defaults(model, &trained->options);
    trained->options.workers = 1;
    if (status == SYN_OK && is_data_set(info->data))
        status = syn_settings_set(&syn_data_settings, &trained->options.data, "data", info->data);
    return status;
}

enum syn_status trained_open(const struct command *self, const struct flag_set *own, int argc,
                             char **argv, struct trained *trained, struct flags *flags)
{
    struct typed typed;
    const struct flag_set sets[] = {
        *own, {&table, &typed}, {&syn_data_settings, &trained->options.data}};
    size_t count = sizeof sets / sizeof sets[0];
    enum syn_status status = flags_parse(self, sets, count, argc, argv, flags);
    if (status != SYN_OK || flags->wants_help != HELP_NONE)
        return status;
    if (flags->word_count == 0) {
        usage_error("%s needs the directory of a run or a file of weights", self->name);
        return SYN_INVALID;
    }
    const char *path = flags->words[0];
    status = syn_train_defaults("lenet", &trained->options);
    if (status == SYN_OK)
        status =
            is_directory(path) ? open_run(path, &typed, trained) : open_file(path, &typed, trained);
    /* What predict needs to know about a run's data is in the run. */
    if (status == SYN_OK && (trained->needs_data || !is_directory(path)) &&
        !flags_has(argc, argv, "data"))
        status = check_data(path, trained);
    if (status == SYN_OK) /* typed flags override it */
        status = flags_read(self, sets, count, argc, argv, flags);
    trained->options.threads = typed.threads;
    if (status == SYN_OK && typed.model_file[0]) {
        memcpy(trained->options.model_file, typed.model_file, sizeof typed.model_file);
        trained->options.model = OWN_MODEL;
    }
    if (typed.batch > 0)
        trained->options.batch = typed.batch;
    if (status != SYN_OK)
        trained_close(trained);
    return status;
}

void trained_close(struct trained *trained)
{
    syn_weights_free(trained->weights);
    trained->weights = NULL;
}

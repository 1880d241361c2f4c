/* syncopate export: writes the weights of a run to a file that other programs can read. */
#include <stdio.h>
#include <string.h>

#include <syncopate/engine/weights.h>

#include "command.h"

static const char *name_of(size_t i)
{
    static const char *const names[] = {"own", "pytorch"};
    return i < 2 ? names[i] : NULL;
}

struct options {
    char out[SYN_TEXT_BYTES];
    const char *names;
    bool best;
};

static const struct syn_setting rows[] = {
    SYN_SETTING_ROW(struct options, TEXT, out, "", 0, 0, NULL,
                    "write this file, .safetensors or .npz (-o is the same)"),
    SYN_SETTING_ROW(struct options, CHOICE, names, "own", 0, 0, name_of,
                    "name tensors as in this model, or as in its PyTorch version"),
    SYN_SETTING_ROW(struct options, SWITCH, best, "off", 0, 1, NULL,
                    "use the weights of the best evaluation instead of the last"),
};
static const struct syn_settings_table table = {"Export", rows, sizeof rows / sizeof rows[0]};

static void print_line(struct syn_weights *weights, const char *path)
{
    const struct syn_weights_info *info = syn_weights_info(weights);
    printf("%s: %s on %s by %s, %zu tensors, step %llu of %llu", path, info->model, info->data,
           info->algo, syn_weights_count(weights), (unsigned long long)info->step,
           (unsigned long long)info->steps);
    printf("%s\n", info->step < info->steps ? ": the run has not finished" : "");
}

static int run(const struct command *self, int argc, char **argv)
{
    struct options options;
    struct flags flags;
    struct syn_weights *weights = NULL;
    const struct flag_set sets[] = {{&table, &options}};
    static char out[] = "--out";
    flags_spell_out(argc, argv, out);
    enum syn_status status = flags_parse(self, sets, 1, argc, argv, &flags);
    if (status != SYN_OK || flags.wants_help)
        return exit_code(status);
    if (flags.word_count != 1)
        return usage_error("export takes the directory of one run; got %zu arguments",
                           flags.word_count);
    if (!options.out[0])
        return usage_error("export needs an output file: -o weights.safetensors, or .npz");
    status = syn_weights_of_run(flags.words[0], options.best ? SYN_WEIGHTS_BEST : SYN_WEIGHTS_LAST,
                                &weights);
    if (status != SYN_OK)
        return exit_code(status);
    bool is_pytorch = strcmp(options.names, "pytorch") == 0;
    status = syn_weights_save(weights, is_pytorch ? SYN_NAMES_PYTORCH : SYN_NAMES_OWN, options.out);
    if (status == SYN_OK)
        print_line(weights, options.out);
    syn_weights_free(weights);
    return exit_code(status);
}

const struct command command_export = {"export",
                                       "write the weights of a run to a file for other programs",
                                       "RUN -o FILE [--names pytorch] [--best]", run};

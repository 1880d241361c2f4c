/* The settings of a run, as train and advise read them. */
#include "train_flags.h"

#include <string.h>

void train_flag_sets(struct syn_train_options *options, struct flag_set *sets)
{
    const struct flag_set all[TRAIN_FLAG_SETS] = {
        {&syn_train_settings, options},
        {&syn_optimizer_settings, &options->worker.optimizer},
        {&syn_worker_settings, &options->worker},
        {&syn_reducer_settings, &options->worker.reducer},
        {&syn_group_settings, &options->group},
        {&syn_data_settings, &options->data},
    };
    memcpy(sets, all, sizeof all);
}

enum syn_status train_flags_parse(const struct command *self, const struct flag_set *sets,
                                  size_t count, int argc, char **argv,
                                  struct syn_train_options *options, struct flags *flags)
{
    enum syn_status status = flags_parse(self, sets, count, argc, argv, flags);
    if (status != SYN_OK)
        return status;
    if (flags->word_count > 0) {
        usage_error("\"%.64s\" is not a flag; see syncopate %s --help", flags->words[0],
                    self->name);
        return SYN_INVALID;
    }
    if (options->model_file[0] && !flags_has(argc, argv, "model"))
        options->model = OWN_MODEL;
    return SYN_OK;
}

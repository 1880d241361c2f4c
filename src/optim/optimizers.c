/* The table of optimizers and of their settings, and what follows from settings alone. */
#include <string.h>

#include "optim/inside.h"

#define SYN_SETTING(...) /* of the parts */
#define SYN_PART(name)   extern const struct syn_optim syn_optim_##name;
#include <syncopate/parts/optimizers.def>
#undef SYN_PART

static const struct syn_optim *const kinds[] = {
#define SYN_PART(name) &syn_optim_##name,
#include <syncopate/parts/optimizers.def>
#undef SYN_PART
};
#undef SYN_SETTING
#define KINDS (sizeof kinds / sizeof kinds[0])

static const struct syn_setting rows[] = {
#define SYN_SETTING(...) SYN_SETTING_ROW(struct syn_optimizer_options, __VA_ARGS__),
#include <syncopate/optimizer_options.def>
#undef SYN_SETTING
};
const struct syn_settings_table syn_optimizer_settings = {"Optimizer", rows,
                                                          sizeof rows / sizeof rows[0]};

const char *syn_optimizer_name(size_t i)
{
    return i < KINDS ? kinds[i]->part.name : NULL;
}

const struct syn_part *syn_optimizer_part(size_t i)
{
    return i < KINDS ? &kinds[i]->part : NULL;
}

const char *syn_optimizer_help(size_t i)
{
    return i < KINDS ? kinds[i]->part.help : NULL;
}

/* The name has been checked already, so it is the last one if it is none of the others. */
const struct syn_optim *syn_optim_of(const char *name)
{
    size_t i = 0;
    while (i + 1 < KINDS && strcmp(kinds[i]->part.name, name) != 0)
        i++;
    return kinds[i];
}

bool syn_optimizer_adapts(const struct syn_optimizer_options *options)
{
    return syn_optim_of(options->optimizer)->adapts;
}

bool syn_optimizer_needs_whole_tensors(const struct syn_optimizer_options *options)
{
    return syn_optim_of(options->optimizer)->needs_whole_tensors;
}

bool syn_optimizer_counts(const struct syn_optimizer_options *options)
{
    return syn_optim_of(options->optimizer)->counts;
}

size_t syn_optimizer_memories(const struct syn_optimizer_options *options)
{
    return syn_optim_of(options->optimizer)->memory_per_weight(options);
}

bool syn_optimizer_can_try(const struct syn_optimizer_options *options)
{
    return syn_optim_of(options->optimizer)->foresee != NULL;
}

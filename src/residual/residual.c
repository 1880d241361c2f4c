/* The table of residuals, and what all of them share. */
#include "residual/residual.h"

#define SYN_SETTING(...) /* of the parts */
#define SYN_PART(name)   extern const struct syn_residual_type syn_residual_##name;
#include <syncopate/parts/residuals.def>
#undef SYN_PART

static const struct syn_residual_type *const rows[] = {
#define SYN_PART(name) &syn_residual_##name,
#include <syncopate/parts/residuals.def>
#undef SYN_PART
};
#undef SYN_SETTING

SYN_TABLE(residual, struct syn_residual_type)

const char *syn_residual_choice(size_t i)
{
    return i == 0 ? "auto" : syn_residual_name(i - 1);
}

bool syn_residual_is_moving(const char *choice)
{
    const struct syn_residual_type *row = syn_residual_find(choice);
    return row && row->has_velocity;
}

struct syn_residual syn_residual_from(const struct syn_residual *residual, size_t first)
{
    return (struct syn_residual){
        .unsent = residual->unsent ? residual->unsent + first : NULL,
        .velocity = residual->velocity ? residual->velocity + first : NULL,
    };
}

void syn_residual_take_back(const struct syn_residual *residual, const struct syn_list *dropped)
{
    for (size_t i = 0; i < dropped->count; i++)
        residual->unsent[dropped->index[i]] += dropped->value[i];
}

void syn_residual_add_velocity(const struct syn_kernels *kernels, const struct syn_residual *before,
                               const struct syn_residual *after, const float *gradient,
                               float momentum, float scale, size_t count, bool past_caches,
                               struct syn_scan *scan)
{
    kernels->accumulate_velocity(after->unsent, after->velocity, before->unsent, before->velocity,
                                 gradient, momentum, scale, count, past_caches, scan);
}

void syn_residual_leave(const struct syn_residual *residual, const struct syn_list *sent)
{
    for (size_t i = 0; i < sent->count; i++)
        residual->unsent[sent->index[i]] -= sent->value[i];
}

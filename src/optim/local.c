/* The table of local updates, and the global gradient that glu recovers from the weights. */
#include "optim/local.h"

#define SYN_SETTING(...) /* of the parts */
#define SYN_PART(name)   extern const struct syn_local_type syn_##name;
#include <syncopate/parts/locals.def>
#undef SYN_PART

static const struct syn_local_type *const rows[] = {
#define SYN_PART(name) &syn_##name,
#include <syncopate/parts/locals.def>
#undef SYN_PART
};
#undef SYN_SETTING

SYN_TABLE(local, struct syn_local_type)

void syn_global_mean(const struct syn_local_path *path, double momentum, const float *before,
                     const float *after, float *mean, size_t count)
{
    float shrink = (float)path->decay;
    float per_length = (float)((1 - momentum) / path->length);
    for (size_t i = 0; i < count; i++)
        mean[i] = (shrink * before[i] - after[i]) * per_length;
}

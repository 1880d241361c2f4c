/* The table of local updates, and the global gradient that glu reads back. */
#include "optim/local.h"

#include <math.h>

#define SYN_PART(name) extern const struct syn_local_type syn_##name;
#include "optim/locals.def"
#undef SYN_PART

static const struct syn_local_type *const rows[] = {
#define SYN_PART(name) &syn_##name,
#include "optim/locals.def"
#undef SYN_PART
};

SYN_TABLE(local, struct syn_local_type)

void syn_global_mean(const struct syn_global_mean *how, const float *before, const float *after,
                     float *mean, size_t count)
{
    double n = (double)how->n;
    float shrink = (float)pow(1 - how->lr * how->weight_decay, n);
    float per_step = (float)((1 - how->momentum) / (n * how->lr));
    for (size_t i = 0; i < count; i++)
        mean[i] = (shrink * before[i] - after[i]) * per_step;
}

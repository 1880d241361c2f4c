/* A worker of the core, whatever its method; also if it is the only one. */
#include "engine/train/update.h"

#include "engine/base/fail.h"

enum syn_status syn_update_open(const struct syn_train_options *options, struct syn_group *group,
                                const struct syn_layout *layout, const float *weights,
                                struct syn_update *update)
{
    /* Whether to clip is known only when the whole gradient is there. */
    update->starts_early = options->worker.reducer.bucket_bytes > 0 && options->clip == 0;
    if (options->no_exchange)
        SYN_TRY(syn_group_open_threads(1, &options->group, &update->alone));
    return syn_worker_open(update->alone ? update->alone : group, layout, &options->worker, weights,
                           &update->worker);
}

enum syn_status syn_update_step(struct syn_update *update, const struct syn_rates *rates,
                                double scale, float *gradient, size_t params, float *weights)
{
    for (size_t i = 0; i < params && scale != 1; i++)
        gradient[i] *= (float)scale;
    return syn_worker_step(update->worker, gradient, rates, weights);
}

void syn_update_close(struct syn_update *update)
{
    syn_worker_close(update->worker);
    syn_group_close(update->alone);
}

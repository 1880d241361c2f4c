/* A worker of the core, whatever its method, even if it is the only one. */
#include "engine/train/replica/update.h"

#include "engine/base/fail.h"

/* A worker that is alone in its own group. */
static enum syn_status open_alone(const struct syn_train_options *options,
                                  const struct syn_layout *layout, const float *weights,
                                  struct syn_update *update)
{
    SYN_TRY(syn_group_open_threads(1, &options->group, &update->alone_group));
    return syn_worker_open(update->alone_group, layout, &options->worker, weights, &update->alone);
}

enum syn_status syn_update_open(const struct syn_train_options *options, struct syn_group *group,
                                const struct syn_layout *layout, const float *weights,
                                struct syn_update *update)
{
    bool can_start = options->accumulate == 1 && !options->no_exchange;
    update->starts_early = options->worker.reducer.bucket_bytes > 0 && can_start;
    SYN_TRY(syn_worker_open(group, layout, &options->worker, weights, &update->worker));
    return options->no_exchange ? open_alone(options, layout, weights, update) : SYN_OK;
}

enum syn_status syn_update_step(struct syn_update *update, const struct syn_rates *rates,
                                const float *gradient, float *weights)
{
    struct syn_worker *worker = update->alone ? update->alone : update->worker;
    return syn_worker_step(worker, gradient, rates, weights);
}

void syn_update_close(struct syn_update *update)
{
    syn_worker_close(update->alone);
    syn_group_close(update->alone_group);
    syn_worker_close(update->worker);
}

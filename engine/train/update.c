/* One worker: the optimizer is applied to the worker's own gradient. */
#include "engine/train/update.h"

enum syn_status syn_update_open(const struct syn_train_options *options, size_t params,
                                struct syn_update *update)
{
    return syn_optimizer_open(&options->optimizer, params, &update->optimizer);
}

enum syn_status syn_update_step(struct syn_update *update, double lr, double scale,
                                const float *gradient, float *weights)
{
    return syn_optimizer_apply(update->optimizer, lr, scale, gradient, weights);
}

void syn_update_close(struct syn_update *update)
{
    syn_optimizer_free(update->optimizer);
}

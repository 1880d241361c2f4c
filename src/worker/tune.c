/* Changing optimizer settings during a run. They are not part of any message, so they can change
 * only if nothing is under way that they would apply to. */
#include "base/status.h"
#include "worker/inside.h"
#include "worker/options.h"

static enum syn_status check(const struct syn_worker *worker)
{
    if (worker->schedule->is_delayed)
        return syn_fail(SYN_INVALID,
                        "with schedule %s, which keeps steps under way, only the learning rate of "
                        "the whole model can change during a run",
                        worker->options.schedule);
    if (!worker->inner && !worker->store_type->tune)
        return syn_fail(SYN_INVALID,
                        "with store %s, which keeps the optimizer elsewhere, only the learning "
                        "rate of the whole model can change during a run",
                        worker->options.store);
    return SYN_OK;
}

static enum syn_status tune(struct syn_worker *worker, const struct syn_optimizer_options *options,
                            const struct syn_layout *layout)
{
    struct syn_optimizer_options own = *options;
    SYN_TRY(check(worker));
    if (syn_layout_size(layout) != worker->size)
        return syn_fail(SYN_INVALID, "a layout of %zu weights; expected %zu",
                        syn_layout_size(layout), worker->size);
    SYN_TRY(syn_settings_check(&syn_optimizer_settings, &own));
    SYN_TRY(syn_worker_place(&worker->options, worker->momentum, &own));
    return worker->inner ? syn_inner_tune(worker->inner, &own, layout)
                         : worker->store_type->tune(worker->store, &own, layout);
}

enum syn_status syn_worker_tune(struct syn_worker *worker,
                                const struct syn_optimizer_options *options,
                                const struct syn_layout *layout)
{
    struct syn_layout *trained;
    SYN_TRY(syn_trained_layout(layout, &trained));
    enum syn_status status = tune(worker, options, trained);
    syn_layout_free(trained);
    return status;
}

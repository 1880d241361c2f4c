/* Compares what all workers and servers must have been opened with. */
#include <inttypes.h>

#include "base/hash.h"
#include "exchange/consistency.h"
#include "worker/options.h"

enum syn_status syn_worker_check_consistency(struct syn_group *group,
                                             const struct syn_layout *layout,
                                             const struct syn_worker_options *options,
                                             const float *weights)
{
    struct syn_consistency own;
    struct syn_worker_options compared = *options;
    if (group->size > group->workers)
        compared.run_steps = 0; /* servers do not need it: a resumed run may be longer */
    size_t bytes = syn_layout_size(layout) * sizeof *weights;
    syn_consistency_begin(&own);
    syn_consistency_add_layout(&own, layout);
    syn_consistency_add(&own, "workers %zu\n", group->workers);
    syn_consistency_add_settings(&own, &syn_worker_settings, &compared);
    syn_consistency_add_settings(&own, &syn_optimizer_settings, &options->optimizer);
    syn_consistency_add_settings(&own, &syn_reducer_settings, &options->reducer);
    syn_consistency_add(&own, "first-weights %016" PRIx64 "\n", syn_hash(0, weights, bytes));
    return syn_consistency_check(&own, group, group->size);
}

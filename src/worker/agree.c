/* What workers and servers must have been opened with alike. */
#include <inttypes.h>

#include "base/hash.h"
#include "exchange/accord.h"
#include "worker/options.h"

enum syn_status syn_worker_agree(struct syn_group *group, const struct syn_layout *layout,
                                 const struct syn_worker_options *options, const float *weights)
{
    struct syn_accord accord;
    struct syn_worker_options compared = *options;
    if (group->size > group->workers)
        compared.run_steps = 0; /* servers need not know: a run that is resumed may be longer */
    size_t bytes = syn_layout_size(layout) * sizeof *weights;
    syn_accord_begin(&accord);
    syn_accord_add_layout(&accord, layout);
    syn_accord_add(&accord, "workers %zu\n", group->workers);
    syn_accord_add_settings(&accord, &syn_worker_settings, &compared);
    syn_accord_add_settings(&accord, &syn_optimizer_settings, &options->optimizer);
    syn_accord_add_settings(&accord, &syn_reducer_settings, &options->reducer);
    syn_accord_add(&accord, "first-weights %016" PRIx64 "\n", syn_hash(0, weights, bytes));
    return syn_accord_reach(&accord, group, group->size);
}

/* What a worker with density auto sends: the richest form with which a simulated step takes no
 * longer than the overhead allows. Real runs find it by measuring. */
#include <syncopate/simulate.h>

#include "base/status.h"
#include "worker/budget.h"

static enum syn_status try_level(const struct syn_worker_options *options, size_t params,
                                 const struct syn_cluster *cluster, size_t level,
                                 struct syn_traffic *traffic, double *step_ms)
{
    struct syn_worker_options fixed = *options;
    struct syn_simulation result;
    fixed.reducer.density = syn_budget_density(level);
    fixed.reducer.values = syn_budget_values(level);
    fixed.reducer.exchange = "adaptive";
    fixed.reducer.residual = "feedback";
    SYN_TRY(syn_traffic_of(&fixed, params, cluster->servers, traffic));
    SYN_TRY(syn_simulate(cluster, traffic, &result));
    *step_ms = result.step_ms;
    return SYN_OK;
}

enum syn_status syn_traffic_fit(const struct syn_worker_options *options, size_t params,
                                const struct syn_cluster *cluster, struct syn_traffic *traffic)
{
    double allowed = (1 + options->overhead) * cluster->compute_ms;
    double step_ms;
    if (options->reducer.density != SYN_AUTO)
        return syn_traffic_of(options, params, cluster->servers, traffic);
    for (size_t level = 0; level < SYN_BUDGET_LEVELS; level++) {
        SYN_TRY(try_level(options, params, cluster, level, traffic, &step_ms));
        if (step_ms <= allowed)
            break;
    }
    return SYN_OK;
}

/* Running as a parameter server: the checks before it serves (server/server.h). */
#include "schedule/schedule.h"
#include "server/server.h"
#include "transport/transport.h"
#include "worker/clip.h"
#include "worker/inner.h"
#include "worker/options.h"
#include "worker/trained.h"

static enum syn_status check(struct syn_group *group, const struct syn_layout *layout,
                             const float *weights, struct syn_worker_options *options)
{
    double momentum;
    if (group->rank < group->workers)
        return syn_fail(SYN_INVALID, "worker %zu of %zu is not a server; see syn_group_appoint()",
                        group->rank, group->workers);
    SYN_TRY(syn_worker_resolve(options, syn_group_servers(group), &momentum));
    return syn_worker_check_consistency(group, layout, options, weights);
}

static enum syn_status serve(struct syn_group *group, const struct syn_layout *layout,
                             const struct syn_worker_options *options, const float *weights)
{
    struct syn_worker_options resolved = *options;
    enum syn_status status = check(group, layout, weights, &resolved);
    if (status == SYN_OK) {
        struct syn_worker_options kept = syn_inner_store_options(&resolved);
        struct syn_server_setup setup = {
            .group = group,
            .layout = layout,
            .options = &kept,
            .weights = weights,
            .longest = syn_clip_merged(&resolved),
            .is_async = syn_schedule_find(resolved.schedule)->is_async,
        };
        status = syn_server_run(&setup);
    } else {
        syn_group_abandon(group, status, syn_error_text());
    }
    return status;
}

enum syn_status syn_worker_serve(struct syn_group *group, const struct syn_layout *layout,
                                 const struct syn_worker_options *options, const float *weights)
{
    struct syn_trained *trained;
    syn_group_enter(group);
    enum syn_status status = syn_trained_open(layout, weights, &trained);
    if (status != SYN_OK)
        syn_group_abandon(group, status, syn_error_text());
    else if (trained)
        status = serve(group, syn_trained_tensors(trained), options, syn_trained_weights(trained));
    else
        status = serve(group, layout, options, weights);
    syn_trained_close(trained);
    syn_group_depart(group);
    return status;
}

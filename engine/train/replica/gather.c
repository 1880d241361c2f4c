/* A worker with one weight is enough for gathering. */
#include "engine/train/replica/gather.h"

#include <syncopate/worker.h>

static const float no_weight = 0;

static enum syn_status describe(struct syn_layout **layout, struct syn_worker_options *options)
{
    *layout = NULL;
    syn_worker_defaults(options);
    enum syn_status status = syn_layout_new(layout);
    return status == SYN_OK ? syn_layout_add(*layout, "nothing", 1) : status;
}

enum syn_status syn_gather(struct syn_group *group, const void *mine, size_t count, void *all)
{
    struct syn_layout *layout;
    struct syn_worker_options options;
    struct syn_worker *worker = NULL;
    enum syn_status status = describe(&layout, &options);
    if (status == SYN_OK)
        status = syn_worker_open(group, layout, &options, &no_weight, &worker);
    if (status == SYN_OK)
        status = syn_worker_gather(worker, mine, count, all);
    syn_worker_close(worker);
    syn_layout_free(layout);
    return status;
}

enum syn_status syn_gather_attend(struct syn_group *group)
{
    struct syn_layout *layout;
    struct syn_worker_options options;
    enum syn_status status = describe(&layout, &options);
    if (status == SYN_OK)
        status = syn_worker_serve(group, layout, &options, &no_weight);
    syn_layout_free(layout);
    return status;
}

/* Starting the workers and the parameter servers, which are the group's last members. Under an MPI
 * launcher this process is one of them; otherwise all are threads of this process, and worker 0 is
 * the calling one, so that the watcher is called on the thread it expects. */
#include "engine/train/train.h"

#include <stdatomic.h>
#include <stdlib.h>

#include "engine/base/fail.h"
#include "engine/train/loop/members.h"
#include "engine/train/options/options.h"

/* A run whose members are threads. */
struct team {
    const struct syn_train_options *options;
    struct syn_group **groups;
    struct syn_run *first; /* worker 0's, ready to go */
    const struct syn_train_watch *watch;
    struct syn_train_summary *summary;
    enum syn_status status; /* of worker 0, which hears of every failure */
    atomic_int cause;       /* status of the first of the others that failed by itself */
};

/* What the others than worker 0 get of the watcher. */
static struct syn_train_watch stops_of(const struct syn_train_watch *watch)
{
    struct syn_train_watch others = {0};
    if (watch) {
        others.stops = watch->stops;
        others.context = watch->context;
    }
    return others;
}

static void train_as(void *context, size_t member)
{
    struct team *team = context;
    struct syn_run *run;
    struct syn_train_summary unread;
    struct syn_train_watch others = stops_of(team->watch);
    if (member == 0) {
        team->status = syn_train_go(team->first, team->watch, team->summary);
        return;
    }
    enum syn_status status = syn_train_prepare(team->options, team->groups[member], &run);
    if (status == SYN_OK)
        status = syn_train_go(run, &others, &unread);
    int none = SYN_OK;
    if (status != SYN_OK && status != SYN_PEER)
        atomic_compare_exchange_strong(&team->cause, &none, (int)status);
}

static enum syn_status appoint_all(struct syn_group **groups, size_t count, uint64_t servers)
{
    enum syn_status status = SYN_OK;
    for (size_t i = 0; i < count && status == SYN_OK; i++)
        status = syn_group_appoint(groups[i], (size_t)servers);
    return status;
}

/* Worker 0 makes itself ready first: what is wrong with the input is then said once, not by all. */
static enum syn_status train_together(struct team *team, size_t count)
{
    SYN_TRY(syn_group_open_threads(count, &team->options->group, team->groups));
    enum syn_status status = appoint_all(team->groups, count, team->options->servers);
    if (status == SYN_OK)
        status = syn_train_prepare(team->options, team->groups[0], &team->first);
    if (status == SYN_OK) {
        syn_crew_run(team->groups, count, train_as, team);
        enum syn_status cause = (enum syn_status)atomic_load(&team->cause);
        status = team->status == SYN_PEER && cause != SYN_OK ? cause : team->status;
    }
    for (size_t i = 0; i < count; i++)
        syn_group_close(team->groups[i]);
    return status;
}

static enum syn_status train_on_threads(const struct syn_train_options *options,
                                        const struct syn_train_watch *watch,
                                        struct syn_train_summary *summary)
{
    size_t count = (size_t)options->workers + (size_t)options->servers;
    struct team team = {.options = options, .watch = watch, .summary = summary};
    team.groups = calloc(count, sizeof *team.groups);
    if (!team.groups)
        return syn_report(SYN_MEMORY, "cannot allocate %zu workers and servers", count);
    enum syn_status status = train_together(&team, count);
    free(team.groups);
    return status;
}

static enum syn_status train_on_mpi(const struct syn_train_options *options,
                                    const struct syn_train_watch *watch,
                                    struct syn_train_summary *summary)
{
    struct syn_group *group;
    enum syn_status status = syn_group_open_mpi(NULL, &options->group, &group);
    if (status != SYN_OK)
        return status;
    struct syn_train_options own = *options;
    bool is_first = syn_group_rank(group) == 0;
    struct syn_train_watch others = stops_of(watch);
    struct syn_run *run;
    own.workers = syn_group_size(group); /* whatever was typed: under a launcher its ranks count */
    status = syn_train_compare(&own, group);
    if (status == SYN_OK)
        status = syn_group_appoint(group, (size_t)options->servers);
    own.workers = syn_group_size(group);
    if (status == SYN_OK)
        status = syn_train_prepare(&own, group, &run);
    if (status == SYN_OK)
        status = syn_train_go(run, is_first ? watch : &others, summary);
    syn_group_close(group);
    return status;
}

enum syn_status syn_train(const struct syn_train_options *options,
                          const struct syn_train_watch *watch, struct syn_train_summary *summary)
{
    struct syn_train_options checked = *options;
    enum syn_status status = syn_train_check(&checked);
    if (status != SYN_OK)
        return status;
    return syn_group_under_mpi() ? train_on_mpi(options, watch, summary)
                                 : train_on_threads(options, watch, summary);
}

/* Starting the workers and the parameter servers, which are the group's last members. Under an MPI
 * launcher this process is one of them; otherwise all are threads of this process, and worker 0 is
 * the calling one, so that the watcher is called on the thread it expects. */
#include "engine/train/team.h"

#include <pthread.h>
#include <stdlib.h>

#include "engine/base/fail.h"
#include "engine/train/options.h"

struct member {
    const struct syn_train_options *options;
    struct syn_group *group;
    enum syn_status status;
    struct syn_train_summary summary;
    pthread_t thread;
    bool is_started;
};

static void *work(void *argument)
{
    struct member *member = argument;
    struct syn_run *run;
    member->status = syn_train_prepare(member->options, member->group, &run);
    if (member->status == SYN_OK)
        member->status = syn_train_go(run, NULL, &member->summary);
    return NULL;
}

/* A thread that cannot be started leaves the group, so that the others do not wait for it. */
static void start(struct member *member)
{
    member->is_started = pthread_create(&member->thread, NULL, work, member) == 0;
    if (!member->is_started) {
        member->status = syn_report(SYN_MEMORY, "cannot start a thread for a member of the run");
        syn_group_leave(member->group, member->status, syn_error_text());
    }
}

static size_t members_of(const struct syn_train_options *options)
{
    return (size_t)options->workers + (size_t)options->servers;
}

static enum syn_status appoint_all(struct syn_group **groups, size_t count, uint64_t servers)
{
    enum syn_status status = SYN_OK;
    for (size_t i = 0; i < count && status == SYN_OK; i++)
        status = syn_group_appoint(groups[i], (size_t)servers);
    return status;
}

/* Worker 0 makes itself ready first: what is wrong with the input is then said once, not by all. */
static enum syn_status train_together(const struct syn_train_options *options,
                                      struct member *members, struct syn_group **groups,
                                      const struct syn_train_watch *watch,
                                      struct syn_train_summary *summary)
{
    size_t count = members_of(options);
    struct syn_run *first;
    enum syn_status status = syn_train_prepare(options, groups[0], &first);
    if (status != SYN_OK)
        return status;
    for (size_t i = 1; i < count; i++) {
        members[i] = (struct member){.options = options, .group = groups[i]};
        start(&members[i]);
    }
    status = syn_train_go(first, watch, summary);
    for (size_t i = 1; i < count; i++)
        if (members[i].is_started)
            pthread_join(members[i].thread, NULL);
    return status;
}

static enum syn_status train_on_threads(const struct syn_train_options *options,
                                        const struct syn_train_watch *watch,
                                        struct syn_train_summary *summary)
{
    size_t count = members_of(options);
    struct member *members = calloc(count, sizeof *members);
    struct syn_group **groups = calloc(count, sizeof *groups);
    enum syn_status status = SYN_OK;
    if (!members || !groups)
        status = syn_report(SYN_MEMORY, "cannot allocate %zu workers and servers", count);
    if (status == SYN_OK)
        status = syn_group_open_threads(count, &options->group, groups);
    if (status == SYN_OK)
        status = appoint_all(groups, count, options->servers);
    if (status == SYN_OK)
        status = train_together(options, members, groups, watch, summary);
    for (size_t i = 0; groups && i < count; i++)
        syn_group_close(groups[i]);
    free(groups);
    free(members);
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
    struct syn_run *run;
    status = syn_group_appoint(group, (size_t)options->servers);
    own.workers = syn_group_size(group);
    if (status == SYN_OK)
        status = syn_train_prepare(&own, group, &run);
    if (status == SYN_OK)
        status = syn_train_go(run, is_first ? watch : NULL, summary);
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

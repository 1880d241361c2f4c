/* Training: the workers and the parameter servers, which are the group's last members, are started,
 * and each prepares, chooses a method if requested, trains and finishes. Under an MPI launcher this
 * process is one of them; otherwise all are threads of this process, and worker 0 is the calling
 * one, so that the watcher is called on the thread it expects. */
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "engine/base/fail.h"
#include "engine/train/advise/advise.h"

/* All workers have reached the end together and know it, so no worker has to be told; the last line
 * that is logged is the one that matters. */
static enum syn_status tell_loss(const struct syn_train_summary *summary)
{
    if (!summary->is_first)
        return SYN_IO;
    return syn_report(SYN_IO, "the weights of step %llu could not be saved in %s",
                      (unsigned long long)summary->steps, summary->out);
}

/* A server reports nothing: worker 0 reports for all. */
static enum syn_status serve(struct syn_run *run, struct syn_train_summary *summary)
{
    memset(summary, 0, sizeof *summary);
    if (run->replica.options.resume[0])
        SYN_TRY(syn_gather_attend(run->replica.group)); /* the workers agree on where to begin */
    return syn_worker_serve(run->replica.group, syn_model_layout(run->replica.model),
                            &run->replica.options.worker, run->replica.weights);
}

/* Prepare a member of the group for training. Bad input is found here.
 *   is_alone  the other members are not running yet, so none has to be told; reporting for them
 *             would only repeat it */
static enum syn_status prepare(const struct syn_train_options *options, struct syn_group *group,
                               bool is_alone, struct syn_run **run)
{
    struct syn_run *made = calloc(1, sizeof *made);
    if (!made)
        return syn_report(SYN_MEMORY, "cannot allocate a run");
    enum syn_status status = syn_run_meet(group, syn_run_open(options, group, made));
    if (status == SYN_OK)
        status = syn_run_compare(made);
    if (status == SYN_OK)
        status = syn_run_meet(group, syn_run_prepare(made));
    if (status != SYN_OK) {
        if (!is_alone)
            syn_group_leave(group, status, syn_error_text());
        syn_run_close(made);
        free(made);
        return status;
    }
    *run = made;
    return SYN_OK;
}

/* Train as that member, and release it, whatever happens. Collective.
 *   watch    worker 0's; NULL for the others
 *   summary  written on success */
static enum syn_status go(struct syn_run *run, const struct syn_train_watch *watch,
                          struct syn_train_summary *summary)
{
    struct syn_worker **worker = &run->replica.update.worker;
    syn_control_watch(&run->control, watch);
    bool serves = syn_replica_serves(&run->replica);
    enum syn_status status = syn_advise_choose(run);
    if (status == SYN_OK)
        status = serves ? serve(run, summary) : syn_run_join(run);
    if (status == SYN_OK && !serves)
        status = syn_run_loop(run);
    if (status == SYN_OK && !serves)
        status = syn_run_finish(run, summary);
    if (status != SYN_OK && *worker)
        syn_worker_abandon(*worker, status, syn_error_text());
    else if (status != SYN_OK)
        syn_group_leave(run->replica.group, status, syn_error_text());
    bool is_lost = status == SYN_OK && run->checkpoints.is_lost;
    syn_run_close(run);
    free(run);
    return is_lost ? tell_loss(summary) : status;
}

/* A run whose members are threads. */
struct threads {
    const struct syn_train_options *options;
    struct syn_group **groups;
    struct syn_run *first; /* worker 0's, ready to go */
    const struct syn_train_watch *watch;
    struct syn_train_summary *summary;
    enum syn_status status; /* of worker 0, which hears of every failure */
    atomic_int cause;       /* status of the first of the others that failed on its own */
};

/* The part of the watcher that workers other than 0 get. */
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
    struct threads *threads = context;
    struct syn_run *run;
    struct syn_train_summary unread;
    struct syn_train_watch others = stops_of(threads->watch);
    if (member == 0) {
        threads->status = go(threads->first, threads->watch, threads->summary);
        return;
    }
    enum syn_status status = prepare(threads->options, threads->groups[member], false, &run);
    if (status == SYN_OK)
        status = go(run, &others, &unread);
    int none = SYN_OK;
    if (status != SYN_OK && status != SYN_PEER)
        atomic_compare_exchange_strong(&threads->cause, &none, (int)status);
}

static enum syn_status appoint_all(struct syn_group **groups, size_t count, uint64_t servers)
{
    enum syn_status status = SYN_OK;
    for (size_t i = 0; i < count && status == SYN_OK; i++)
        status = syn_group_appoint(groups[i], (size_t)servers);
    return status;
}

/* Worker 0 prepares first, so that bad input is reported once, not by all. */
static enum syn_status train_together(struct threads *threads, size_t count)
{
    SYN_TRY(syn_group_open_threads(count, &threads->options->group, threads->groups));
    enum syn_status status = appoint_all(threads->groups, count, threads->options->servers);
    if (status == SYN_OK)
        status = prepare(threads->options, threads->groups[0], true, &threads->first);
    if (status == SYN_OK) {
        syn_members_run(threads->groups, count, train_as, threads);
        enum syn_status cause = (enum syn_status)atomic_load(&threads->cause);
        status = threads->status == SYN_PEER && cause != SYN_OK ? cause : threads->status;
    }
    for (size_t i = 0; i < count; i++)
        syn_group_close(threads->groups[i]);
    return status;
}

static enum syn_status train_on_threads(const struct syn_train_options *options,
                                        const struct syn_train_watch *watch,
                                        struct syn_train_summary *summary)
{
    size_t count = (size_t)options->workers + (size_t)options->servers;
    struct threads threads = {.options = options, .watch = watch, .summary = summary};
    threads.groups = calloc(count, sizeof *threads.groups);
    if (!threads.groups)
        return syn_report(SYN_MEMORY, "cannot allocate %zu workers and servers", count);
    enum syn_status status = train_together(&threads, count);
    free(threads.groups);
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
    own.workers =
        syn_group_workers(group); /* whatever was typed: a launcher's number of ranks decides */
    status = syn_train_compare(&own, group);
    if (status == SYN_OK)
        status = syn_group_appoint(group, (size_t)options->servers);
    own.workers = syn_group_workers(group);
    if (status == SYN_OK)
        status = prepare(&own, group, false, &run);
    if (status == SYN_OK)
        status = go(run, is_first ? watch : &others, summary);
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

/* Advice, for those who ask for it and for algo auto. Worker 0 decides and tells, so that no
 * rounding can make workers disagree. */
#include "engine/train/advise.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "engine/base/fail.h"
#include "engine/base/memory.h"
#include "engine/train/options.h"

#define MESSAGE_LEAST ((size_t)1024)
#define MESSAGE_MOST  ((size_t)64 << 20)

/* The size of the messages of a ring. */
static size_t message_bytes(const struct syn_run *run)
{
    size_t bytes = 4 * run->params / (size_t)run->options.workers;
    return bytes < MESSAGE_LEAST ? MESSAGE_LEAST : bytes > MESSAGE_MOST ? MESSAGE_MOST : bytes;
}

/* Worker 0's to everyone. */
static enum syn_status hear_first(struct syn_run *run, struct syn_advice *advice)
{
    struct syn_advice *all;
    size_t workers = (size_t)run->options.workers;
    SYN_TRY(syn_engine_allocate(workers, sizeof *all, &all));
    enum syn_status status = syn_run_join(run);
    if (status == SYN_OK)
        status = syn_worker_gather(run->update.worker, advice, sizeof *advice, all);
    if (status == SYN_OK)
        *advice = all[0];
    free(all);
    syn_update_close(&run->update);
    memset(&run->update, 0, sizeof run->update);
    return status;
}

enum syn_status syn_advise_run(struct syn_run *run, struct syn_advice *advice)
{
    struct syn_advice made;
    memset(&made, 0, sizeof made);
    made.workers = (size_t)run->options.workers;
    made.params = run->params;
    SYN_TRY(syn_measure_links(run->group, message_bytes(run), &made.links));
    SYN_TRY(syn_advise_compute(run, &made));
    SYN_TRY(syn_advise_judge(&run->options, &made));
    SYN_TRY(hear_first(run, &made));
    made.is_first = run->rank == 0;
    *advice = made;
    return SYN_OK;
}

enum syn_status syn_run_choose(struct syn_run *run)
{
    struct syn_advice advice;
    if (!syn_train_is_auto(&run->options))
        return SYN_OK;
    run->options.algo = "ssgd";
    if (run->options.workers > 1) {
        SYN_TRY(syn_advise_run(run, &advice));
        run->options.algo = advice.rows[advice.best].name;
        snprintf(run->options.advice, sizeof run->options.advice, "%s", advice.verdict);
    } else {
        snprintf(run->options.advice, sizeof run->options.advice,
                 "one worker: nothing to exchange");
    }
    SYN_TRY(syn_train_apply_algo(&run->options));
    SYN_TRY(syn_train_check(&run->options)); /* also makes algo the table's own copy */
    if (run->rank != 0)
        return SYN_OK;
    bool is_plain = strcmp(run->options.algo, "ssgd") == 0; /* worth a warning: nothing is gained */
    syn_report_log(is_plain ? SYN_LOG_WARNING : SYN_LOG_INFO, "algo auto: %s", run->options.advice);
    return syn_files_settings(&run->options, &run->files);
}

/* One worker's part in giving advice. */
struct adviser {
    const struct syn_train_options *options;
    struct syn_group *group;
    struct syn_run run;
    struct syn_advice advice;
    enum syn_status status;
    pthread_t thread;
    bool is_started;
};

static void *advise(void *argument)
{
    struct adviser *adviser = argument;
    adviser->status = syn_run_open(adviser->options, adviser->group, &adviser->run);
    if (adviser->status == SYN_OK)
        adviser->status = syn_advise_run(&adviser->run, &adviser->advice);
    if (adviser->status != SYN_OK)
        syn_group_leave(adviser->group, adviser->status, syn_error_text());
    syn_run_close(&adviser->run);
    return NULL;
}

static enum syn_status advise_on_threads(struct adviser *advisers, size_t workers)
{
    for (size_t i = 1; i < workers; i++) {
        struct adviser *one = &advisers[i];
        one->is_started = pthread_create(&one->thread, NULL, advise, one) == 0;
        if (!one->is_started)
            syn_group_leave(one->group, SYN_MEMORY, "cannot start a thread for a worker");
    }
    advise(&advisers[0]);
    for (size_t i = 1; i < workers; i++)
        if (advisers[i].is_started)
            pthread_join(advisers[i].thread, NULL);
    return advisers[0].status;
}

static enum syn_status open_and_advise(const struct syn_train_options *options,
                                       struct syn_group **groups, struct adviser *advisers)
{
    bool is_mpi = syn_group_under_mpi();
    size_t workers = is_mpi ? 1 : (size_t)options->workers;
    if (is_mpi)
        SYN_TRY(syn_group_open_mpi(NULL, &options->group, groups));
    else
        SYN_TRY(syn_group_open_threads(workers, &options->group, groups));
    for (size_t i = 0; i < workers; i++) {
        advisers[i].options = options;
        advisers[i].group = groups[i];
    }
    enum syn_status status = advise_on_threads(advisers, workers);
    for (size_t i = 0; i < workers; i++)
        syn_group_close(groups[i]);
    return status;
}

enum syn_status syn_advise(const struct syn_train_options *options, struct syn_advice *advice)
{
    struct syn_train_options checked = *options;
    size_t most = (size_t)options->workers;
    struct syn_group **groups = NULL;
    struct adviser *advisers = NULL;
    checked.evaluate = false;
    if (syn_train_is_auto(&checked))
        checked.algo = "ssgd";
    SYN_TRY(syn_train_check(&checked));
    checked.threads = options->threads; /* each worker resolves its own */
    if (!syn_group_under_mpi() && options->workers < 2)
        return syn_report(SYN_INVALID,
                          "workers: 1 has nobody to exchange with; expected at least 2, "
                          "or mpirun with as many ranks");
    enum syn_status status = syn_engine_allocate(most, sizeof *groups, &groups);
    if (status == SYN_OK)
        status = syn_engine_allocate(most, sizeof *advisers, &advisers);
    if (status == SYN_OK)
        status = open_and_advise(&checked, groups, advisers);
    if (status == SYN_OK)
        *advice = advisers[0].advice;
    free(groups);
    free(advisers);
    return status;
}

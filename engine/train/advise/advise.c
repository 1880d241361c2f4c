/* Advice, for `syncopate advise` and for algo auto. Worker 0 decides and tells the others, so that
 * rounding cannot make workers disagree. */
#include "engine/train/advise/advise.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "engine/base/fail.h"
#include "engine/base/memory.h"

#define MOST_REST     1000.0 /* ms */
#define MESSAGE_LEAST ((size_t)1024)
#define MESSAGE_MOST  ((size_t)64 << 20)

/* The size of the messages of a ring. */
static size_t message_bytes(const struct syn_run *run)
{
    size_t bytes = 4 * run->replica.params / (size_t)run->replica.options.workers;
    return bytes < MESSAGE_LEAST ? MESSAGE_LEAST : bytes > MESSAGE_MOST ? MESSAGE_MOST : bytes;
}

/* Send worker 0's advice to everyone. */
static enum syn_status hear_first(const struct syn_run *run, struct syn_advice *advice)
{
    struct syn_advice *all;
    SYN_TRY(syn_engine_allocate((size_t)run->replica.options.workers, sizeof *all, &all));
    enum syn_status status = syn_gather(run->replica.group, advice, sizeof *advice, all);
    if (status == SYN_OK)
        *advice = all[0];
    free(all);
    return status;
}

enum syn_status syn_advise_run(struct syn_run *run, const struct syn_train_options *asked,
                               struct syn_advice *advice)
{
    struct syn_advice made;
    memset(&made, 0, sizeof made);
    made.workers = (size_t)run->replica.options.workers;
    made.params = run->replica.params;
    SYN_TRY(syn_advise_measure(run, &made));
    SYN_TRY(hear_first(run, &made));
    SYN_TRY(syn_measure_links(run->replica.group, message_bytes(run),
                              fmin(made.together_ms, MOST_REST), &made.links));
    SYN_TRY(syn_advise_predict(asked, syn_position_length(&run->replica.at), &made));
    SYN_TRY(hear_first(run, &made));
    made.is_first = run->replica.rank == 0;
    *advice = made;
    return SYN_OK;
}

enum syn_status syn_advise_choose(struct syn_run *run)
{
    struct syn_advice advice;
    if (!syn_train_is_auto(&run->replica.options))
        return SYN_OK;
    run->replica.options.algo = "ssgd";
    if (run->replica.options.workers > 1) {
        SYN_TRY(syn_advise_run(run, &run->replica.options, &advice));
        run->replica.options.algo = advice.rows[advice.best].name;
        snprintf(run->replica.options.advice, sizeof run->replica.options.advice, "%s",
                 advice.verdict);
    } else {
        snprintf(run->replica.options.advice, sizeof run->replica.options.advice,
                 "one worker: nothing to exchange");
    }
    SYN_TRY(syn_train_apply_algo(&run->replica.options));
    syn_length_resolve(syn_position_length(&run->replica.at), &run->replica.options);
    SYN_TRY(syn_train_check(&run->replica.options)); /* also makes algo the table's own copy */
    if (run->replica.rank != 0)
        return SYN_OK;
    struct syn_traits traits = syn_worker_traits(&run->replica.options.worker);
    bool is_plain = traits.is_dense && !traits.is_delayed; /* warn: nothing is gained */
    syn_report_log(is_plain ? SYN_LOG_WARNING : SYN_LOG_INFO, "algo auto: %s",
                   run->replica.options.advice);
    return syn_files_settings(&run->replica.options, &run->metrics.files);
}

/* One worker's state while advice is made. */
struct adviser {
    const struct syn_train_options *options;
    struct syn_group *group;
    struct syn_run run;
    struct syn_advice advice;
    bool is_prepared;
    enum syn_status status;
};

/* Bad input is found here. Collective, except among threads of one process, which all have the same
 * input. */
static enum syn_status prepare(struct adviser *adviser)
{
    adviser->is_prepared = true;
    SYN_TRY(syn_train_compare(adviser->options, adviser->group));
    SYN_TRY(syn_run_meet(adviser->group,
                         syn_run_open(adviser->options, adviser->group, &adviser->run)));
    return syn_run_compare(&adviser->run);
}

static void advise_as(void *context, size_t member)
{
    struct adviser *adviser = (struct adviser *)context + member;
    if (!adviser->is_prepared)
        adviser->status = prepare(adviser);
    if (adviser->status == SYN_OK)
        adviser->status = syn_advise_run(&adviser->run, adviser->options, &adviser->advice);
    if (adviser->status != SYN_OK)
        syn_group_leave(adviser->group, adviser->status, syn_error_text());
    syn_run_close(&adviser->run);
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
    /* With threads, worker 0 goes first, so that bad input is reported only once. */
    if (!is_mpi)
        advisers[0].status = prepare(&advisers[0]);
    if (advisers[0].status == SYN_OK)
        syn_members_run(groups, workers, advise_as, advisers);
    else
        syn_run_close(&advisers[0].run);
    for (size_t i = 0; i < workers; i++)
        syn_group_close(groups[i]);
    return advisers[0].status;
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
    if (!syn_group_under_mpi() && options->workers < 2)
        return syn_report(SYN_INVALID,
                          "workers: 1 has no peer to exchange with; expected at least 2, "
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

/* syncopate bench exchange: compares the bytes of one exchange with theory; workers are threads or,
 * under mpirun, ranks. */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

#include <syncopate/measure.h>

#include "bench_flags.h"

struct worker {
    const struct bench_flags *flags;
    struct syn_group *group;
    pthread_t thread;
    enum syn_status status;
    struct syn_exchange_measure got;
};

static void *work(void *argument)
{
    struct worker *worker = argument;
    worker->status =
        syn_measure_exchange(worker->group, &worker->flags->reducer, (size_t)worker->flags->n,
                             (size_t)worker->flags->repeats, &worker->got);
    return NULL;
}

static void print(const struct worker *worker)
{
    const struct bench_flags *flags = worker->flags;
    const struct syn_exchange_measure *got = &worker->got;
    const char *form =
        flags->json ? "{\"exchange\": \"%s\", \"n\": %llu, \"k\": %zu, \"workers\": %zu, "
                      "\"transport\": \"%s\", \"ms\": %.4f, \"bytes_max\": %llu, "
                      "\"bytes_bound\": %.0f}\n"
                    : "%s, %llu floats, %zu entries, %zu workers on %s: %.3f ms, %llu bytes from "
                      "the busiest worker (theory: %.0f)\n";
    printf(form, flags->reducer.exchange, (unsigned long long)flags->n, got->count,
           syn_group_workers(worker->group), syn_group_transport(worker->group), got->ms,
           (unsigned long long)got->bytes_max, got->bytes_bound);
}

static enum syn_status run_under_mpi(const struct bench_flags *flags)
{
    struct worker worker = {.flags = flags};
    enum syn_status status = syn_group_open_mpi(NULL, NULL, &worker.group);
    if (status != SYN_OK)
        return status;
    work(&worker);
    if (worker.status == SYN_OK && syn_group_rank(worker.group) == 0)
        print(&worker);
    syn_group_close(worker.group);
    return worker.status == SYN_MISMATCH ? SYN_INVALID : worker.status; /* flags that differ */
}

/* Returns the first failure among the workers. To the others, a thread that did not start is a
 * silent worker. */
static enum syn_status run_all(struct worker *workers, size_t count)
{
    size_t started = 0;
    while (started < count &&
           pthread_create(&workers[started].thread, NULL, work, &workers[started]) == 0)
        started++;
    enum syn_status status = SYN_OK;
    for (size_t i = 0; i < started; i++) {
        pthread_join(workers[i].thread, NULL);
        status = status == SYN_OK ? workers[i].status : status;
    }
    if (started == count)
        return status;
    usage_error("only %zu of %zu threads could be started", started, count);
    return SYN_MEMORY;
}

static enum syn_status run_on_threads(const struct bench_flags *flags)
{
    size_t count = (size_t)flags->workers;
    struct worker *workers = calloc(count, sizeof *workers);
    struct syn_group **groups = calloc(count, sizeof *groups);
    enum syn_status status = SYN_MEMORY;
    if (workers && groups)
        status = syn_group_open_threads(count, NULL, groups);
    if (status == SYN_OK) {
        for (size_t i = 0; i < count; i++)
            workers[i] = (struct worker){.flags = flags, .group = groups[i]};
        status = run_all(workers, count);
        if (status == SYN_OK)
            print(&workers[0]);
        for (size_t i = 0; i < count; i++)
            syn_group_close(groups[i]);
    }
    free(workers);
    free(groups);
    return status;
}

static int run(const struct command *self, int argc, char **argv)
{
    struct bench_flags flags;
    enum syn_status status = bench_flags_parse(self, "4000000", NULL, argc, argv, &flags);
    if (status != SYN_OK || flags.wants_help)
        return exit_code(status);
    status = refuse_lone_process(argc, argv);
    if (status == SYN_OK)
        status = syn_reducer_check(&flags.reducer); /* here, so that it is reported only once */
    if (status == SYN_OK)
        status = syn_group_under_mpi() ? run_under_mpi(&flags) : run_on_threads(&flags);
    return exit_code(status);
}

const struct command command_bench_exchange = {
    "exchange", "compare the bytes of one exchange with theory",
    "[--exchange E] [--n N] [--density D] [--workers P] ...", run};

/* Every scenario under real mpirun; then the same with threads inside worker 0: all bits must be
 * the same. Not a cmocka program: its workers are processes, and it exits with 1 after telling what
 * went wrong. */
#include <stdio.h>
#include <stdlib.h>

#include "scenario.h"
#include "workers.h"

struct run {
    const struct scenario *scenario;
    struct report reports[WORKERS_MOST];
};

static void member(struct syn_group *group, size_t rank, void *context)
{
    struct run *run = context;
    scenario_run(run->scenario, group, &run->reports[rank]);
}

/* On threads, in this process. */
static uint64_t hash_on_threads(const struct scenario *scenario, size_t workers)
{
    struct run run = {.scenario = scenario};
    run_workers(workers, 20000, member, &run);
    uint64_t hash = run.reports[0].hash;
    for (size_t i = 0; i < workers; i++)
        report_free(&run.reports[i]);
    return hash;
}

int main(void)
{
    struct syn_group *group;
    if (syn_group_open_mpi(NULL, NULL, &group) != SYN_OK) {
        fprintf(stderr, "%s\n", syn_error_text());
        return 1;
    }
    int failures = 0;
    for (const struct scenario *scenario = all_scenarios; scenario->name; scenario++) {
        struct report report;
        scenario_run(scenario, group, &report);
        uint64_t threads = hash_on_threads(scenario, syn_group_size(group));
        if (report.status != SYN_OK || report.hash != threads) {
            fprintf(stderr, "rank %zu of %zu, %s: %s\n", syn_group_rank(group),
                    syn_group_size(group), scenario->name,
                    report.status != SYN_OK ? report.cause : "other bits than on threads");
            failures++;
        }
        report_free(&report);
    }
    syn_group_close(group);
    return failures > 0;
}

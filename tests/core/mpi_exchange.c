/* Every scenario under real mpirun; then the same with threads inside worker 0: all bits must be
 * the same. Not a cmocka program: its workers are processes, and it exits with 1 after telling what
 * went wrong. */
#include <stdio.h>
#include <stdlib.h>

#include "scenario.h"
#include "workers.h"

struct run {
    const struct scenario *scenario;
    struct account accounts[WORKERS_MOST];
};

static void member(struct syn_group *group, size_t rank, void *context)
{
    struct run *run = context;
    scenario_run(run->scenario, group, &run->accounts[rank]);
}

/* On threads, in this process. */
static uint64_t hash_on_threads(const struct scenario *scenario, size_t workers)
{
    struct run run = {.scenario = scenario};
    run_workers(workers, 20000, member, &run);
    uint64_t hash = run.accounts[0].hash;
    for (size_t i = 0; i < workers; i++)
        account_free(&run.accounts[i]);
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
        struct account account;
        scenario_run(scenario, group, &account);
        uint64_t threads = hash_on_threads(scenario, syn_group_workers(group));
        if (account.status != SYN_OK || account.hash != threads) {
            fprintf(stderr, "rank %zu of %zu, %s: %s\n", syn_group_rank(group),
                    syn_group_workers(group), scenario->name,
                    account.status != SYN_OK ? account.cause : "other bits than on threads");
            failures++;
        }
        account_free(&account);
    }
    syn_group_close(group);
    return failures > 0;
}

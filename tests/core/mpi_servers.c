/* Synchronous runs on parameter servers under real mpirun, the last rank or two being servers; then
 * the same with threads inside every process: all bits must be the same. Asynchronous runs, which
 * are never the same, must only end well. Exits with 1 after telling what went wrong. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cluster.h"

static const struct {
    const char *recipe;
    const char *settings[3][2];
} runs[] = {
    {"ssgd", {{NULL}}},
    {"ssgd", {{"values", "f16"}, {"residual", "feedback"}, {"pull_values", "f16"}}},
    {"ssgd", {{"bucket_bytes", "900"}}},
    {"od-sgd", {{NULL}}},
    {"ssd-sgd", {{NULL}}},
    {"topk", {{"schedule", "ssd"}}},
    {"strom", {{NULL}}},
    {"asgd", {{NULL}}},
};

static struct cluster *cluster_for(size_t run, size_t servers)
{
    struct cluster *cluster = cluster_of(runs[run].recipe, servers);
    for (size_t i = 0; i < 3 && runs[run].settings[i][0]; i++)
        if (cluster_set(cluster, runs[run].settings[i][0], runs[run].settings[i][1]) != SYN_OK)
            fprintf(stderr, "%s\n", syn_error_text());
    return cluster;
}

/* Whether this rank's part of a run went as it must. */
static int perform(struct syn_group *group, size_t run, size_t members, size_t servers)
{
    size_t rank = syn_group_rank(group);
    struct cluster *processes = cluster_for(run, servers);
    struct cluster *threads = cluster_for(run, servers);
    cluster_member(group, rank, processes);
    run_workers(members, 20000, cluster_member, threads);
    bool is_async = strcmp(runs[run].recipe, "asgd") == 0;
    bool is_same = is_async || (processes->hash[rank] == threads->hash[rank] &&
                                memcmp(processes->weights[rank], threads->weights[rank],
                                       sizeof threads->weights[rank]) == 0);
    int failures = processes->status[rank] != SYN_OK || !is_same;
    if (failures)
        fprintf(stderr, "rank %zu of %zu, run %zu (%s): %s\n", rank, members, run, runs[run].recipe,
                processes->status[rank] != SYN_OK ? processes->cause[rank]
                                                  : "other bits than on threads");
    free(processes);
    free(threads);
    return failures;
}

int main(void)
{
    struct syn_group *group;
    if (syn_group_open_mpi(NULL, NULL, &group) != SYN_OK) {
        fprintf(stderr, "%s\n", syn_error_text());
        return 1;
    }
    size_t members = syn_group_workers(group);
    size_t servers = members > 3 ? 2 : 1;
    int failures = 0;
    for (size_t run = 0; run < sizeof runs / sizeof runs[0]; run++)
        failures += perform(group, run, members, servers);
    syn_group_close(group);
    return failures > 0;
}

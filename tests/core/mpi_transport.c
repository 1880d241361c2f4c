/* Transport over real MPI processes; every rank runs this program.
 *   mpi_transport        each case in turn, on a group of its own
 *   mpi_transport stuck  rank 1 is stopped for good while a large message is on its way to it;
 *                        the others name it and end, which makes the launcher end rank 1 */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "transport_cases.h"

struct scene {
    const char *name;
    transport_case *function;
    uint64_t timeout_ms;
    size_t least_workers;
};

static const struct scene scenes[] = {
    {"every pair", case_every_pair, 60000, 1},
    {"many under way", case_many_under_way, 60000, 1},
    {"wrong peer", case_wrong_peer, 60000, 1},
    {"whoever comes", case_whoever_comes, 60000, 1},
    {"late chain", case_late_chain, 400, 4},
    {"too large", case_too_large, 60000, 2},
    {"far too large", case_far_too_large, 60000, 2},
    {"no room", case_no_room, 60000, 2},
    {"too large in the end", case_too_large_in_the_end, 60000, 2},
    {"abandon", case_abandon, 60000, 2},
    {"silent", case_silent, 300, 2},
    {"silent among busy", case_silent_among_busy, 300, 3},
    {"circle", case_circle, 100, 2},
};

static struct syn_group *join(uint64_t timeout_ms)
{
    struct syn_group_options options = {.timeout_ms = 60000};
    struct syn_group *group;
    if (syn_group_open_mpi(NULL, &options, &group) != SYN_OK) {
        fprintf(stderr, "cannot open: %s\n", syn_error_text());
        exit(1);
    }
    group->timeout_ns = (int64_t)timeout_ms * 1000000;
    return group;
}

static int perform(const struct scene *scene)
{
    struct syn_group *group = join(scene->timeout_ms);
    const char *wrong = "";
    if (group->size >= scene->least_workers)
        wrong = scene->function(group, group->size / 2);
    if (*wrong)
        fprintf(stderr, "%s: %s\n", scene->name, wrong);
    syn_group_close(group);
    return *wrong ? 1 : 0;
}

static int get_stuck(void)
{
    static char bytes[8 << 20];
    struct syn_group *group = join(300);
    if (group->rank == 1)
        raise(SIGSTOP);
    struct syn_request request;
    syn_group_send(group, 1, bytes, sizeof bytes, &request);
    if (syn_group_wait(group, &request, 1) == SYN_TIMEOUT)
        printf("rank %zu: %s\n", syn_group_rank(group), syn_error_text());
    fflush(stdout);
    syn_group_close(group);
    return 1;
}

int main(int argc, char **argv)
{
    if (argc > 1 && strcmp(argv[1], "stuck") == 0)
        return get_stuck();
    int failures = 0;
    for (size_t i = 0; i < sizeof scenes / sizeof scenes[0]; i++)
        failures += perform(&scenes[i]);
    return failures > 0;
}

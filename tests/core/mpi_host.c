/* A program that initialises MPI itself; every rank runs it.
 *   mpi_host unprepared [N]  as most would: the ring of N floats works, and one rank's log says
 *                            what to do
 *   mpi_host prepared [N]    after syn_group_before_mpi(): nothing is left to say
 *   mpi_host library [N]     it does not, the library does: what the others are compared with
 *   mpi_host multiple [N]    at a thread level at which the library can answer at any time
 *   mpi_host funneled        at a thread level that is too low, which is refused with what to do
 * Prints how long an exchange of the ring took. */
#include <mpi.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <syncopate/group.h>
#include <syncopate/log.h>
#include <syncopate/measure.h>

static int hints;    /* that the log gave */
static int warnings; /* that nobody answers while this process computes */

static void count_hints(void *context, enum syn_log_level level, const char *text)
{
    (void)context;
    (void)level;
    hints += strstr(text, "OMPI_MCA_btl_tcp_eager_limit=") != NULL;
    warnings += strstr(text, "MPI_THREAD_MULTIPLE") && strstr(text, "timeout_ms (60000 ms)");
}

static int fail(const char *what)
{
    fprintf(stderr, "mpi_host: %s: %s\n", what, syn_error_text());
    return 1;
}

static int refuse(void)
{
    struct syn_group *group;
    bool is_refused = syn_group_open_mpi(NULL, NULL, &group) == SYN_UNSUPPORTED &&
                      strstr(syn_error_text(), "MPI_Init_thread()");
    return is_refused ? 0 : fail("a thread level that is too low is accepted");
}

static int exchange(size_t size)
{
    struct syn_group *group;
    struct syn_reducer_options options;
    struct syn_exchange_measure result;
    syn_reducer_defaults(&options);
    options.exchange = "ring";
    if (syn_reducer_check(&options) != SYN_OK)
        return fail("options");
    if (syn_group_open_mpi(NULL, NULL, &group) != SYN_OK)
        return fail("cannot open");
    if (syn_measure_exchange(group, &options, size, 5, &result) != SYN_OK)
        return fail("cannot exchange");
    if (syn_group_rank(group) == 0)
        printf("%zu floats, ring: %.1f ms\n", size, result.ms);
    syn_group_close(group);
    return 0;
}

int main(int argc, char **argv)
{
    const char *how = argc > 1 ? argv[1] : "";
    bool is_prepared = strcmp(how, "prepared") == 0;
    bool is_low = strcmp(how, "funneled") == 0;
    bool is_high = strcmp(how, "multiple") == 0;
    size_t size = argc > 2 ? strtoul(argv[2], NULL, 10) : 200000;
    int level;
    int rank;
    int length;
    char version[MPI_MAX_LIBRARY_VERSION_STRING];
    if (is_prepared)
        syn_group_before_mpi();
    syn_log_to(count_hints, NULL, SYN_LOG_INFO);
    if (strcmp(how, "library") == 0)
        return exchange(size) || hints > 0 || warnings > 0;
    int asked = is_low    ? MPI_THREAD_FUNNELED
                : is_high ? MPI_THREAD_MULTIPLE
                          : MPI_THREAD_SERIALIZED;
    MPI_Init_thread(&argc, &argv, asked, &level);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Get_library_version(version, &length);
    if (is_low && level >= MPI_THREAD_SERIALIZED)
        is_low = false; /* more than was asked for, which is allowed */
    int code = is_low ? refuse() : exchange(size);
    int expected = rank == 0 && !is_prepared && !is_low && strncmp(version, "Open MPI", 8) == 0;
    if (code == 0 && hints != expected) {
        fprintf(stderr, "mpi_host: rank %d: %d hints in the log; expected %d\n", rank, hints,
                expected);
        code = 1;
    }
    int warned = !is_low && level < MPI_THREAD_MULTIPLE;
    if (code == 0 && warnings != warned) {
        fprintf(stderr, "mpi_host: rank %d: %d warnings in the log; expected %d\n", rank, warnings,
                warned);
        code = 1;
    }
    MPI_Finalize();
    return code;
}

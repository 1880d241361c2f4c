/* Launchers report by environment variables. If an MPI does not understand its launcher, each of
 * the P processes is the only one in its world: P runs of one worker each, without any error, where
 * one run of P was intended. So what the launcher reports is compared with what MPI finds. */
#include "transport/launcher.h"

#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <syncopate/group.h>

#include "base/status.h"

/* Open MPI and whatever starts its processes; MPICH, Intel MPI and Slurm's pmi2; MVAPICH2. */
static const char *const mpi_sizes[] = {"OMPI_COMM_WORLD_SIZE", "PMI_SIZE", "MV2_COMM_WORLD_SIZE"};
#define MPI_SIZES (sizeof mpi_sizes / sizeof mpi_sizes[0])

/* Without a size: anything that uses PMI or PMIx. */
static const char *const mpi_ranks[] = {"PMI_RANK", "PMIX_RANK"};
#define MPI_RANKS (sizeof mpi_ranks / sizeof mpi_ranks[0])

/* The number of srun's tasks, whether or not they are to be MPI processes. Not set in a batch
 * script, which is one process whatever it requests. */
#define TASKS "SLURM_STEP_NUM_TASKS"

static size_t number(const char *name)
{
    const char *value = getenv(name);
    long found = value ? strtol(value, NULL, 10) : 0;
    return found > 0 ? (size_t)found : 0;
}

size_t syn_launcher_size(const char **name)
{
    for (size_t i = 0; i <= MPI_SIZES; i++) {
        *name = i < MPI_SIZES ? mpi_sizes[i] : TASKS;
        size_t size = number(*name);
        if (size > 0)
            return size;
    }
    *name = NULL;
    return 1;
}

#define EAGER  "OMPI_MCA_btl_tcp_eager_limit"
#define EVENTS "OMPI_MCA_opal_event_include"

void syn_group_before_mpi(void)
{
    char bytes[16];
    snprintf(bytes, sizeof bytes, "%d", SYN_EAGER_BYTES);
    setenv(EAGER, bytes, 0);
    setenv(EVENTS, "epoll", 0);
}

static bool is_prepared(void)
{
    const char *events = getenv(EVENTS);
    return number(EAGER) >= SYN_EAGER_BYTES && events && strstr(events, "epoll");
}

void syn_launcher_log_what_slows(const char *version)
{
    static atomic_bool is_told;
    bool is_open_mpi = strncmp(version, "Open MPI", 8) == 0;
    if (!is_open_mpi || is_prepared() || atomic_exchange(&is_told, true))
        return;
    syn_log(SYN_LOG_INFO,
            "MPI was initialised by the program, so messages over TCP are slower than necessary; "
            "call syn_group_before_mpi() before MPI_Init(), or set " EAGER "=%d and " EVENTS
            "=epoll",
            SYN_EAGER_BYTES);
}

bool syn_group_under_mpi(void)
{
    for (size_t i = 0; i < MPI_SIZES; i++)
        if (getenv(mpi_sizes[i]))
            return true;
    for (size_t i = 0; i < MPI_RANKS; i++)
        if (getenv(mpi_ranks[i]))
            return true;
    return false;
}

bool syn_launcher_lets_wait(void)
{
    const char *name;
    bool is_of_open_mpi = getenv(mpi_sizes[0]) != NULL;
    return !is_of_open_mpi && syn_group_under_mpi() && syn_launcher_size(&name) > 1;
}

/* P worlds of one process instead of one world of P: started by a launcher of another MPI, or by
 * one without MPI support. */
enum syn_status syn_launcher_check_world(size_t size)
{
    const char *name;
    size_t meant = syn_launcher_size(&name);
    if (size > 1 || meant == 1)
        return SYN_OK;
    return syn_fail(SYN_INVALID,
                    "%zu processes were started (%s), but MPI finds only this one: use the mpirun "
                    "of the MPI that Syncopate is built with, or srun --mpi=pmix (for MPICH "
                    "--mpi=pmi2); if each is to train on its own, unset %s",
                    meant, name, name);
}

enum syn_status syn_group_check_alone(void)
{
    const char *name;
    size_t size = syn_launcher_size(&name);
    if (size == 1 || syn_group_under_mpi())
        return SYN_OK;
    return syn_fail(SYN_INVALID,
                    "srun started %zu processes (" TASKS
                    ") that cannot find each other; use srun --mpi=pmix, or --workers 1 if each is "
                    "to train on its own",
                    size);
}

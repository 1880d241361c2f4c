/* MPI as this process has it, whatever the number of groups: who may call it, who began and who
 * ends it.
 *
 * MPI is asked for at MPI_THREAD_SERIALIZED, but a process may have several groups, each with a
 * communication thread, and one thread that answers for all (attend.h). So every call is made with
 * one mutex of the process held, for that call alone: who waits for messages of one group keeps
 * nobody from another. */
#ifndef SYN_TRANSPORT_MPI_PROCESS_H
#define SYN_TRANSPORT_MPI_PROCESS_H

#include <mpi.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/status.h"

/* How long a failing worker gives its buffers to come free; and, at the end of the process, the
 * others to say their last words before the launcher ends them. */
#define SYN_MPI_FAREWELL_NS INT64_C(1000000000)

/* What decides whether MPI may be finalised at the end. */
struct syn_mpi_process {
    atomic_int open_groups;
    atomic_bool has_failed;
    atomic_bool is_stuck; /* buffers that are not ours any more may be in use by MPI */
    atomic_bool is_ours;  /* initialised here, hence nobody else calls it */
};
extern struct syn_mpi_process syn_mpi_process;

void syn_mpi_enter(void);

/* Returns the code. */
int syn_mpi_leave(int code);

/* A call of MPI's while no other thread of this library makes one. */
#define SYN_MPI_ALONE(call) (syn_mpi_enter(), syn_mpi_leave(call))

/* SYN_IO, with MPI's text. */
enum syn_status syn_mpi_failed(const char *what, int code);

/* Test until done, for that long at most; whether it is. */
bool syn_mpi_finishes(MPI_Request *under_way, int64_t limit_ns);

/* Begin MPI, to end all of its processes; see syn_group_end_all(). */
void syn_mpi_end_all(int exit_code);

/* Initialise MPI if nobody has; then it is finalised when the process ends. */
enum syn_status syn_mpi_initialize(void);

#endif

/* The state of MPI in this process, whatever the number of groups: who may call it, who initialised
 * it and who finalises it.
 *
 * MPI is initialised with MPI_THREAD_SERIALIZED, but a process may have several groups, each with a
 * communication thread, and one thread that answers for all (attend.h). So every call is made with
 * a process-wide mutex held, for that call only: waiting for messages of one group does not block
 * another. */
#ifndef SYN_TRANSPORT_MPI_PROCESS_H
#define SYN_TRANSPORT_MPI_PROCESS_H

#include <mpi.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/status.h"

/* How long a failing worker waits for its buffers to become free; and, at the end of the process,
 * how long it lets the others send their last messages before the launcher ends them. */
#define SYN_MPI_FAREWELL_NS INT64_C(1000000000)

/* What decides whether MPI may be finalised at the end. */
struct syn_mpi_process {
    atomic_int open_groups;
    atomic_bool has_failed;
    atomic_bool is_stuck; /* MPI may still be using buffers that no longer belong to us */
    atomic_bool is_ours;  /* initialised here, so nobody else calls it */
};
extern struct syn_mpi_process syn_mpi_process;

void syn_mpi_enter(void);

/* Returns the code. */
int syn_mpi_leave(int code);

/* Call MPI while no other thread of this library does. */
#define SYN_MPI_ALONE(call) (syn_mpi_enter(), syn_mpi_leave(call))

/* Fail with SYN_IO and MPI's error text. */
enum syn_status syn_mpi_failed(const char *what, int code);

/* Test until done, for at most limit_ns; returns whether it is done. */
bool syn_mpi_finishes(MPI_Request *under_way, int64_t limit_ns);

/* Initialise MPI in order to abort all of its processes; see syn_group_end_all(). */
void syn_mpi_end_all(int exit_code);

/* Initialise MPI if that has not been done; it is then finalised when the process ends. */
enum syn_status syn_mpi_initialize(void);

#endif

/* What the program that started this process reports about the other processes it started. */
#ifndef SYN_TRANSPORT_LAUNCHER_H
#define SYN_TRANSPORT_LAUNCHER_H

#include <stdbool.h>
#include <stddef.h>

#include <syncopate/status.h>

/* How many processes a launcher (mpirun, srun) has started together with this one, itself included;
 * 1 if there is no launcher.
 *   name  set to the environment variable that gives the number; NULL if there is none */
size_t syn_launcher_size(const char **name);

/* Whether the launcher lets other processes keep waiting for one that failed and ended before MPI
 * was initialised in it. */
bool syn_launcher_lets_wait(void);

/* Refuse an MPI world of one process if the launcher started several. */
enum syn_status syn_launcher_check_world(size_t size);

/* Log once if MPI was initialised with slower settings than those of syn_group_before_mpi().
 *   version  as MPI_Get_library_version() returns it */
void syn_launcher_log_what_slows(const char *version);

/* Up to this size, heads included, Open MPI then sends over TCP without waiting for the
 * receiver. */
#define SYN_EAGER_BYTES 524288

#endif

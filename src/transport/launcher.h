/* What the program that started this process says about the others it started. */
#ifndef SYN_TRANSPORT_LAUNCHER_H
#define SYN_TRANSPORT_LAUNCHER_H

#include <stdbool.h>
#include <stddef.h>

#include <syncopate/status.h>

/* How many processes a launcher (mpirun, srun) has started together with this one, itself included;
 * 1 if there is none.
 *   name  set to the environment variable that says so; NULL if none does */
size_t syn_launcher_size(const char **name);

/* Whether the launcher lets other processes wait for one that has ended, though it failed, before
 * MPI began in it. */
bool syn_launcher_lets_wait(void);

/* Refuse a world of that many MPI processes if it is one, and one of several were started. */
enum syn_status syn_launcher_check_world(size_t size);

/* Say in the log, once, if whoever began MPI left it slower than syn_group_before_mpi() does.
 *   version  as MPI_Get_library_version() has it */
void syn_launcher_log_what_slows(const char *version);

/* Up to that size Open MPI then sends over TCP without asking, heads included. */
#define SYN_EAGER_BYTES 524288

#endif

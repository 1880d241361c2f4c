/* What the program that started this process says about the others it started. */
#ifndef SYN_TRANSPORT_LAUNCHER_H
#define SYN_TRANSPORT_LAUNCHER_H

#include <stdbool.h>
#include <stddef.h>

/* How many processes a launcher (mpirun, srun) has started together with this one, itself included;
 * 1 if there is none.
 *   name  set to the environment variable that says so; NULL if none does */
size_t syn_launcher_size(const char **name);

/* Whether Open MPI, if it is one, was told all that syn_group_before_mpi() tells it, or as good. */
bool syn_launcher_is_prepared(void);

/* Up to that size Open MPI then sends over TCP without asking, heads included. */
#define SYN_EAGER_BYTES 524288

#endif

/* What the program that started this process says about the others it started. */
#ifndef SYN_TRANSPORT_LAUNCHER_H
#define SYN_TRANSPORT_LAUNCHER_H

#include <stddef.h>

/* How many processes a launcher (mpirun, srun) has started together with this one, itself included;
 * 1 if there is none.
 *   name  set to the environment variable that says so; NULL if none does */
size_t syn_launcher_size(const char **name);

#endif

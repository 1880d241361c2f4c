/* What stands in for mpi.c in a build without MPI: the row is there, and opening it says why it
 * cannot be. */
#include "transport/transport.h"

enum syn_status syn_group_open_mpi(const void *communicator,
                                   const struct syn_group_options *options,
                                   struct syn_group **group)
{
    (void)communicator;
    (void)options;
    (void)group;
    return syn_fail(SYN_UNSUPPORTED,
                    "this build of Syncopate has no MPI; install an MPI and configure with "
                    "-DSYNCOPATE_MPI=ON");
}

extern const struct syn_transport_type syn_transport_mpi;

const struct syn_transport_type syn_transport_mpi = {
    .part = {"mpi", "workers are MPI processes; not in this build"},
};

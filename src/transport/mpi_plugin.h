/* MPI as a plugin: a separate library that is loaded when an MPI group is opened.
 *
 * Packages are built this way, so that users of the library or the Python package do not have to
 * install MPI as well. The plugin is mpi.c and what it needs from its folder. It gets the few
 * library functions that it calls as a table, because a process may contain more than one copy of
 * the library (a static one, the Python package's), and a failure must be recorded in the calling
 * one. */
#ifndef SYN_TRANSPORT_MPI_PLUGIN_H
#define SYN_TRANSPORT_MPI_PLUGIN_H

#include <stddef.h>
#include <stdint.h>

#include "transport/transport.h"

/* The file name of the plugin, and the functions in it. */
#define SYN_MPI_PLUGIN_FILE    "libsyncopate-mpi.so"
#define SYN_MPI_PLUGIN_ENTRY   "syn_mpi_plugin_open_group"
#define SYN_MPI_PLUGIN_END_ALL "syn_mpi_plugin_end_all"

/* What the plugin needs from the library that loaded it. */
struct syn_mpi_host {
    const char *version; /* syn_version(): a plugin of another version is refused */
    void (*note_failure)(const char *text);
    void (*log)(enum syn_log_level level, const char *text);
    enum syn_status (*allocate)(size_t count, size_t size, void *pointer_to_result);
    enum syn_status (*group_new)(const struct syn_transport_type *type, size_t rank, size_t size,
                                 const struct syn_group_options *options, size_t state_bytes,
                                 struct syn_group **group);
    void (*group_free)(struct syn_group *group);
    void (*group_back_off)(int64_t waited_ns);
    int64_t (*group_back_off_ns)(int64_t waited_ns);
    void (*group_moved)(struct syn_group *group, size_t peer);
    enum syn_status (*group_lost)(struct syn_group *group, size_t peer);
    enum syn_status (*attend_begin)(struct syn_group *group);
};

/* The row's open(). */
typedef enum syn_status syn_mpi_plugin_entry(const struct syn_mpi_host *host,
                                             const struct syn_group_place *place,
                                             const struct syn_group_options *options,
                                             struct syn_group **group);

/* The row's end_all(). */
typedef void syn_mpi_plugin_end(const struct syn_mpi_host *host, int exit_code);

#endif

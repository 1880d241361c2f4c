/* The plugin's side: forwards what mpi.c calls to the library that loaded the plugin. */
#include "transport/mpi_plugin.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include <syncopate/version.h>

#include "base/memory.h"
#include "transport/attend.h"

static const struct syn_mpi_host *host;

extern const struct syn_transport_type syn_transport_mpi;

void syn_note_failure(const char *format, ...)
{
    char text[SYN_ERROR_BYTES];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(text, sizeof text, format, arguments);
    va_end(arguments);
    host->note_failure(text);
}

void syn_log(enum syn_log_level level, const char *format, ...)
{
    char text[SYN_ERROR_BYTES];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(text, sizeof text, format, arguments);
    va_end(arguments);
    host->log(level, text);
}

enum syn_status syn_allocate(size_t count, size_t size, void *pointer_to_result)
{
    return host->allocate(count, size, pointer_to_result);
}

enum syn_status syn_group_new(const struct syn_transport_type *type, size_t rank, size_t size,
                              const struct syn_group_options *options, size_t state_bytes,
                              struct syn_group **group)
{
    return host->group_new(type, rank, size, options, state_bytes, group);
}

void syn_group_free(struct syn_group *group)
{
    host->group_free(group);
}

void syn_group_back_off(int64_t waited_ns)
{
    host->group_back_off(waited_ns);
}

int64_t syn_group_back_off_ns(int64_t waited_ns)
{
    return host->group_back_off_ns(waited_ns);
}

void syn_group_moved(struct syn_group *group, size_t peer)
{
    host->group_moved(group, peer);
}

enum syn_status syn_group_lost(struct syn_group *group, size_t peer)
{
    return host->group_lost(group, peer);
}

enum syn_status syn_attend_begin(struct syn_group *group)
{
    return host->attend_begin(group);
}

__attribute__((visibility("default"))) syn_mpi_plugin_entry syn_mpi_plugin_open_group;
__attribute__((visibility("default"))) syn_mpi_plugin_end syn_mpi_plugin_end_all;

/* Any library of the same version is served. Their tables differ only in whose log they write to,
 * and except in odd cases a process has only one. */
static bool is_served(const struct syn_mpi_host *caller)
{
    if (strcmp(caller->version, SYN_VERSION) != 0) {
        caller->note_failure("the MPI plugin has version " SYN_VERSION
                             ", but the library has another; install both from one release");
        return false;
    }
    host = caller;
    return true;
}

enum syn_status syn_mpi_plugin_open_group(const struct syn_mpi_host *caller,
                                          const struct syn_group_place *place,
                                          const struct syn_group_options *options,
                                          struct syn_group **group)
{
    return is_served(caller) ? syn_transport_mpi.open(place, options, group) : SYN_UNSUPPORTED;
}

void syn_mpi_plugin_end_all(const struct syn_mpi_host *caller, int exit_code)
{
    if (is_served(caller))
        syn_transport_mpi.end_all(exit_code);
}

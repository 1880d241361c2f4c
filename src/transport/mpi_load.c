/* What stands in for mpi.c where MPI is a plugin, and in a build without MPI: the row is there, and
 * opening a group looks for the plugin, first beside the library itself (a Python package, a build
 * folder), then where the system looks for libraries. */
#include <dlfcn.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>

#include <syncopate/version.h>

#include "base/memory.h"
#include "transport/attend.h"
#include "transport/mpi_plugin.h"

static void note_failure(const char *text)
{
    syn_note_failure("%s", text);
}

static void log_line(enum syn_log_level level, const char *text)
{
    syn_log(level, "%s", text);
}

static struct {
    pthread_mutex_t lock;
    syn_mpi_plugin_entry *open_group; /* NULL: not loaded yet */
} plugin = {.lock = PTHREAD_MUTEX_INITIALIZER};

/* The loader's own data, of which dladdr() tells in which file it lies. */
static void *load_beside_this_library(void)
{
    Dl_info here;
    char path[4096];
    if (!dladdr(&plugin, &here) || !here.dli_fname)
        return NULL;
    const char *slash = strrchr(here.dli_fname, '/');
    int folder = slash ? (int)(slash - here.dli_fname) + 1 : 0;
    int length = snprintf(path, sizeof path, "%.*s" SYN_MPI_PLUGIN_FILE, folder, here.dli_fname);
    if (!slash || length < 0 || (size_t)length >= sizeof path)
        return NULL;
    /* Global, because Open MPI loads parts of itself that look for its symbols among all. */
    return dlopen(path, RTLD_NOW | RTLD_GLOBAL);
}

/* A function out of dlsym()'s void pointer, which ISO C has no cast for. */
static syn_mpi_plugin_entry *find_entry(void *library)
{
    syn_mpi_plugin_entry *entry = NULL;
    void *symbol = dlsym(library, SYN_MPI_PLUGIN_ENTRY);
    memcpy(&entry, &symbol, sizeof entry);
    return entry;
}

static enum syn_status load(syn_mpi_plugin_entry **entry)
{
    void *library = load_beside_this_library();
    char why[256];
    snprintf(why, sizeof why, "%s", library ? "" : dlerror());
    if (!library)
        library = dlopen(SYN_MPI_PLUGIN_FILE "." SYN_SOVERSION, RTLD_NOW | RTLD_GLOBAL);
    if (!library) {
        const char *last = dlerror();
        return syn_fail(SYN_UNSUPPORTED,
                        "MPI cannot be used: install the package libsyncopate" SYN_SOVERSION
                        "-mpi, or build Syncopate with MPI (%s; %s)",
                        why, last ? last : "no reason given");
    }
    *entry = find_entry(library);
    return *entry ? SYN_OK
                  : syn_fail(SYN_UNSUPPORTED, SYN_MPI_PLUGIN_FILE " has no " SYN_MPI_PLUGIN_ENTRY
                                                                  ": it is of another version");
}

static enum syn_status load_once(syn_mpi_plugin_entry **entry)
{
    pthread_mutex_lock(&plugin.lock);
    enum syn_status status = plugin.open_group ? SYN_OK : load(&plugin.open_group);
    *entry = plugin.open_group;
    pthread_mutex_unlock(&plugin.lock);
    return status;
}

static enum syn_status open_group(const struct syn_group_place *place,
                                  const struct syn_group_options *options, struct syn_group **group)
{
    static struct syn_mpi_host host = {
        .note_failure = note_failure,
        .log = log_line,
        .allocate = syn_allocate,
        .group_new = syn_group_new,
        .group_free = syn_group_free,
        .group_back_off = syn_group_back_off,
        .group_back_off_ns = syn_group_back_off_ns,
        .group_moved = syn_group_moved,
        .group_lost = syn_group_lost,
        .attend_begin = syn_attend_begin,
    };
    syn_mpi_plugin_entry *open_in_plugin = NULL;
    host.version = syn_version();
    SYN_TRY(load_once(&open_in_plugin));
    return open_in_plugin(&host, place, options, group);
}

extern const struct syn_transport_type syn_transport_mpi;

const struct syn_transport_type syn_transport_mpi = {
    .part = {"mpi", "workers are processes that any MPI-3 has started; loaded when it is used"},
    .open = open_group,
};

/* Replaces mpi.c where MPI is a plugin, and in a build without MPI: the row exists, and opening a
 * group looks for the plugin, first next to the library itself (a Python package, a build folder),
 * then where the system looks for libraries. */
#include <dlfcn.h>
#include <pthread.h>
#include <stdbool.h>
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
    syn_mpi_plugin_end *end_all;
} plugin = {.lock = PTHREAD_MUTEX_INITIALIZER};

/* The file of an MPI that was loaded for all to see before the plugin's own, which the plugin would
 * call instead: Debian's PyTorch brings Open MPI, whose functions have the same names as MPICH's.
 * NULL: there is none. PMPI_Init rather than MPI_Init, because profilers replace the latter on
 * purpose. */
static const char *another_mpi(void *library)
{
    Dl_info there;
    void *first = dlsym(RTLD_DEFAULT, "PMPI_Init");
    return first != dlsym(library, "PMPI_Init") && dladdr(first, &there) ? there.dli_fname : NULL;
}

/* dlopen() of the plugin such that it calls the MPI that it was built with, if that can be had. */
static void *load_with_its_own_mpi(const char *path)
{
    /* Global, because Open MPI loads parts of itself that look up its symbols globally. */
    const int mode = RTLD_NOW | RTLD_GLOBAL;
    void *library = dlopen(path, mode);
#ifdef RTLD_DEEPBIND
    /* Only where it is needed: it also hides a malloc() that replaces libc's. Not for Open MPI,
     * which compares addresses of "environ" and would see two. */
    if (library && another_mpi(library) && !dlsym(library, "ompi_mpi_init")) {
        dlclose(library);
        return dlopen(path, mode | RTLD_DEEPBIND);
    }
#endif
    return library;
}

/* Uses the address of this file's own data, for which dladdr() returns the file of the library. */
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
    return load_with_its_own_mpi(path);
}

/* Set a pointer to the function of that name. By memcpy(), because ISO C has no cast from dlsym()'s
 * void pointer. */
static bool find(void *library, const char *name, void *pointer_to_function)
{
    void *symbol = dlsym(library, name);
    memcpy(pointer_to_function, &symbol, sizeof symbol);
    return symbol != NULL;
}

static enum syn_status load(void)
{
    void *library = load_beside_this_library();
    char why[256];
    snprintf(why, sizeof why, "%s", library ? "" : dlerror());
    if (!library)
        library = load_with_its_own_mpi(SYN_MPI_PLUGIN_FILE "." SYN_SOVERSION);
    if (!library) {
        const char *last = dlerror();
        return syn_fail(SYN_UNSUPPORTED,
                        "MPI cannot be used: install the package libsyncopate" SYN_SOVERSION
                        "-mpi, or build Syncopate with MPI (%s; %s)",
                        why, last ? last : "no reason given");
    }
    if (another_mpi(library) && dlsym(library, "ompi_mpi_init"))
        return syn_fail(
            SYN_UNSUPPORTED,
            "MPI cannot be used: this process has loaded another MPI (%s) than the one Syncopate "
            "was built with; build Syncopate with that one",
            another_mpi(library));
    return find(library, SYN_MPI_PLUGIN_END_ALL, &plugin.end_all) &&
                   find(library, SYN_MPI_PLUGIN_ENTRY, &plugin.open_group)
               ? SYN_OK
               : syn_fail(SYN_UNSUPPORTED, SYN_MPI_PLUGIN_FILE " lacks " SYN_MPI_PLUGIN_ENTRY
                                                               " or " SYN_MPI_PLUGIN_END_ALL
                                                               ": it belongs to another version");
}

static enum syn_status load_once(void)
{
    pthread_mutex_lock(&plugin.lock);
    enum syn_status status = plugin.open_group ? SYN_OK : load();
    pthread_mutex_unlock(&plugin.lock);
    return status;
}

static const struct syn_mpi_host *this_library(void)
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
    host.version = syn_version();
    return &host;
}

static enum syn_status open_group(const struct syn_group_place *place,
                                  const struct syn_group_options *options, struct syn_group **group)
{
    SYN_TRY(load_once());
    return plugin.open_group(this_library(), place, options, group);
}

static void end_all(int exit_code)
{
    if (load_once() == SYN_OK)
        plugin.end_all(this_library(), exit_code);
}

extern const struct syn_transport_type syn_transport_mpi;

const struct syn_transport_type syn_transport_mpi = {
    .part = {"mpi", "workers are processes started by any MPI-3; loaded when it is used"},
    .open = open_group,
    .end_all = end_all,
};

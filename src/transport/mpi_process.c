/* Initialising, sharing and finalising MPI. */
#include "transport/mpi_process.h"

#include <pthread.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "transport/transport.h"

struct syn_mpi_process syn_mpi_process;

static pthread_mutex_t mpi_mutex = PTHREAD_MUTEX_INITIALIZER;

void syn_mpi_enter(void)
{
    pthread_mutex_lock(&mpi_mutex);
}

int syn_mpi_leave(int code)
{
    pthread_mutex_unlock(&mpi_mutex);
    return code;
}

enum syn_status syn_mpi_failed(const char *what, int code)
{
    char text[MPI_MAX_ERROR_STRING] = "unknown error";
    int length = 0;
    SYN_MPI_ALONE(MPI_Error_string(code, text, &length));
    return syn_fail(SYN_IO, "%s: %s", what, text);
}

bool syn_mpi_finishes(MPI_Request *under_way, int64_t limit_ns)
{
    int64_t start_ns = syn_clock_ns();
    for (;;) {
        int is_done = 0;
        if (SYN_MPI_ALONE(MPI_Test(under_way, &is_done, MPI_STATUS_IGNORE)) != MPI_SUCCESS ||
            is_done)
            return true;
        int64_t waited_ns = syn_clock_ns() - start_ns;
        if (waited_ns >= limit_ns)
            return false;
        syn_group_back_off(waited_ns);
    }
}

/* Whether all processes reach their end soon, so that MPI_Finalize() will not wait forever. */
static bool all_come_to_the_end(void)
{
    MPI_Request under_way = MPI_REQUEST_NULL;
    return SYN_MPI_ALONE(MPI_Ibarrier(MPI_COMM_WORLD, &under_way)) == MPI_SUCCESS &&
           syn_mpi_finishes(&under_way, SYN_MPI_FAREWELL_NS);
}

static void finalize(void)
{
    int is_finalized = 0;
    MPI_Finalized(&is_finalized);
    /* With a group still open, another thread may be inside MPI. */
    if (is_finalized || atomic_load(&syn_mpi_process.open_groups) > 0)
        return;
    if (atomic_load(&syn_mpi_process.is_stuck)) {
        struct timespec farewell = syn_clock_timespec(SYN_MPI_FAREWELL_NS);
        nanosleep(&farewell, NULL);
        return;
    }
    if (!atomic_load(&syn_mpi_process.has_failed) || all_come_to_the_end())
        SYN_MPI_ALONE(MPI_Finalize());
}

enum syn_status syn_mpi_initialize(void)
{
    int is_initialized = 0;
    int is_finalized = 0;
    int level = MPI_THREAD_SINGLE;
    MPI_Initialized(&is_initialized);
    MPI_Finalized(&is_finalized);
    if (is_finalized)
        return syn_fail(SYN_INVALID, "MPI has already been finalised");
    if (!is_initialized) {
        syn_group_before_mpi();
        int code = SYN_MPI_ALONE(MPI_Init_thread(NULL, NULL, MPI_THREAD_SERIALIZED, &level));
        if (code != MPI_SUCCESS)
            return syn_mpi_failed("MPI_Init_thread", code);
        atexit(finalize);
        atomic_store(&syn_mpi_process.is_ours, true);
    }
    MPI_Query_thread(&level);
    if (level < MPI_THREAD_SERIALIZED)
        return syn_fail(SYN_UNSUPPORTED,
                        "MPI was initialised with thread level %d; expected at least "
                        "MPI_THREAD_SERIALIZED (%d): call MPI_Init_thread() with that level",
                        level, MPI_THREAD_SERIALIZED);
    return SYN_OK;
}

/* Time for the others to initialise MPI as well; they may have to load data first. */
#define MEETING_S 30

static void *end_soon(void *exit_code)
{
    sleep(MEETING_S);
    _exit(*(int *)exit_code);
}

void syn_mpi_end_all(int exit_code)
{
    static int last_code;
    int is_begun = 0;
    pthread_t watch;
    MPI_Initialized(&is_begun);
    last_code = exit_code;
    if (is_begun || pthread_create(&watch, NULL, end_soon, &last_code) != 0)
        return;
    pthread_detach(watch);
    if (syn_mpi_initialize() == SYN_OK)
        SYN_MPI_ALONE(MPI_Abort(MPI_COMM_WORLD, exit_code));
}

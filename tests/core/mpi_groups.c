/* Two groups in each process, each with a communication thread of its own, under MPI's own
 * interface for tools: no two threads are ever inside MPI at once, as MPI_THREAD_SERIALIZED wants
 * it; and rank 1, which computes for many time-outs, is waited for. Exits with 1 after telling what
 * went wrong. */
#include <mpi.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <time.h>

#include "fixture.h"
#include "transport/transport.h"

enum { STEPS = 1500, TIMEOUT_MS = 300 };

static atomic_int inside;
static atomic_int overlaps;
static atomic_int calls;

static void enter(void)
{
    atomic_fetch_add(&calls, 1);
    if (atomic_fetch_add(&inside, 1) > 0)
        atomic_fetch_add(&overlaps, 1);
}

static int leave(int code)
{
    atomic_fetch_sub(&inside, 1);
    return code;
}

int MPI_Test(MPI_Request *request, int *flag, MPI_Status *status)
{
    enter();
    return leave(PMPI_Test(request, flag, status));
}

int MPI_Isend(const void *bytes, int count, MPI_Datatype type, int peer, int tag, MPI_Comm comm,
              MPI_Request *request)
{
    enter();
    return leave(PMPI_Isend(bytes, count, type, peer, tag, comm, request));
}

int MPI_Irecv(void *bytes, int count, MPI_Datatype type, int peer, int tag, MPI_Comm comm,
              MPI_Request *request)
{
    enter();
    return leave(PMPI_Irecv(bytes, count, type, peer, tag, comm, request));
}

int MPI_Improbe(int peer, int tag, MPI_Comm comm, int *flag, MPI_Message *message,
                MPI_Status *status)
{
    enter();
    return leave(PMPI_Improbe(peer, tag, comm, flag, message, status));
}

int MPI_Imrecv(void *bytes, int count, MPI_Datatype type, MPI_Message *message,
               MPI_Request *request)
{
    enter();
    return leave(PMPI_Imrecv(bytes, count, type, message, request));
}

int MPI_Get_count(const MPI_Status *status, MPI_Datatype type, int *count)
{
    enter();
    return leave(PMPI_Get_count(status, type, count));
}

struct part {
    pthread_t thread;
    struct syn_group *group;
    struct fixture fixture;
    enum syn_status status;
};

static void *work(void *context)
{
    struct part *part = context;
    size_t rank = syn_group_rank(part->group);
    struct syn_reducer *reducer = NULL;
    struct timespec long_time = {.tv_sec = 3};
    float gradient[FIXTURE_SIZE] = {[3] = 1};
    float sum[FIXTURE_SIZE];
    part->status = fixture_open(&part->fixture, part->group, &reducer);
    for (int i = 0; i < STEPS && part->status == SYN_OK; i++) {
        if (i == STEPS / 2 && rank == 1)
            nanosleep(&long_time, NULL);
        part->status = fixture_step(reducer, gradient, NULL, sum);
    }
    if (part->status != SYN_OK)
        fprintf(stderr, "rank %zu: %s\n", rank, syn_error_text());
    syn_reducer_close(reducer);
    return NULL;
}

int main(void)
{
    struct part parts[2] = {{.fixture = fixture_for("ssgd")}, {.fixture = fixture_for("gtopk")}};
    struct syn_group_options options = {.timeout_ms = 60000};
    for (int i = 0; i < 2; i++) {
        if (syn_group_open_mpi(NULL, &options, &parts[i].group) != SYN_OK) {
            fprintf(stderr, "%s\n", syn_error_text());
            return 1;
        }
        parts[i].group->timeout_ns = TIMEOUT_MS * INT64_C(1000000);
    }
    for (int i = 0; i < 2; i++)
        pthread_create(&parts[i].thread, NULL, work, &parts[i]);
    for (int i = 0; i < 2; i++)
        pthread_join(parts[i].thread, NULL);
    int bad = parts[0].status != SYN_OK || parts[1].status != SYN_OK;
    for (int i = 0; i < 2; i++)
        syn_group_close(parts[i].group);
    if (atomic_load(&overlaps) > 0 || atomic_load(&calls) < STEPS)
        fprintf(stderr, "%d of %d calls of MPI overlap others\n", atomic_load(&overlaps),
                atomic_load(&calls));
    return bad || atomic_load(&overlaps) > 0 || atomic_load(&calls) < STEPS;
}

/* One thread, one queue. The queue is an intrusive list of works: posting allocates nothing, and
 * its length is bounded by the number of works that their owners have. */
#include "reducer/comm.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "transport/transport.h"

struct syn_comm {
    struct syn_group *group;
    pthread_mutex_t mutex;
    pthread_cond_t posted;
    pthread_cond_t done;
    pthread_t thread;
    struct syn_work *first;
    struct syn_work *last;
    bool is_closing;
};

/* The next work, or NULL when closing and none is left. */
static struct syn_work *next_work(struct syn_comm *comm)
{
    pthread_mutex_lock(&comm->mutex);
    while (!comm->first && !comm->is_closing)
        pthread_cond_wait(&comm->posted, &comm->mutex);
    struct syn_work *work = comm->first;
    if (work)
        comm->first = work->next;
    pthread_mutex_unlock(&comm->mutex);
    return work;
}

static void run(struct syn_group *group, struct syn_work *work)
{
    int64_t began = syn_clock_ns();
    uint64_t out = group->bytes_out;
    uint64_t in = group->bytes_in;
    work->status = work->run(work);
    if (work->status != SYN_OK) {
        memcpy(work->cause, syn_error_text(), strlen(syn_error_text()) + 1);
        syn_group_abandon(group, work->status, work->cause);
    }
    work->cost = (struct syn_cost){.bytes_out = group->bytes_out - out,
                                   .bytes_in = group->bytes_in - in,
                                   .exchange_ms = (double)(syn_clock_ns() - began) * 1e-6};
}

static void *run_all(void *argument)
{
    struct syn_comm *comm = argument;
    for (struct syn_work *work = next_work(comm); work; work = next_work(comm)) {
        run(comm->group, work);
        pthread_mutex_lock(&comm->mutex);
        work->is_done = true;
        pthread_cond_broadcast(&comm->done);
        pthread_mutex_unlock(&comm->mutex);
    }
    return NULL;
}

enum syn_status syn_comm_open(struct syn_group *group, struct syn_comm **comm)
{
    struct syn_comm *made = calloc(1, sizeof *made);
    if (!made)
        return syn_fail(SYN_MEMORY, "cannot allocate a communication thread");
    made->group = group;
    pthread_mutex_init(&made->mutex, NULL);
    pthread_cond_init(&made->posted, NULL);
    pthread_cond_init(&made->done, NULL);
    if (pthread_create(&made->thread, NULL, run_all, made) != 0) {
        pthread_cond_destroy(&made->done);
        pthread_cond_destroy(&made->posted);
        pthread_mutex_destroy(&made->mutex);
        free(made);
        return syn_fail(SYN_MEMORY, "cannot start the communication thread");
    }
    *comm = made;
    return SYN_OK;
}

void syn_comm_post(struct syn_comm *comm, struct syn_work *work)
{
    work->next = NULL;
    work->is_done = false;
    pthread_mutex_lock(&comm->mutex);
    if (comm->first)
        comm->last->next = work;
    else
        comm->first = work;
    comm->last = work;
    pthread_cond_signal(&comm->posted);
    pthread_mutex_unlock(&comm->mutex);
}

enum syn_status syn_comm_wait(struct syn_comm *comm, struct syn_work *work)
{
    pthread_mutex_lock(&comm->mutex);
    while (!work->is_done)
        pthread_cond_wait(&comm->done, &comm->mutex);
    pthread_mutex_unlock(&comm->mutex);
    return work->status == SYN_OK ? SYN_OK : syn_fail_again(work->status, work->cause);
}

int64_t syn_comm_busy_ns(struct syn_comm *comm)
{
    clockid_t clock;
    return pthread_getcpuclockid(comm->thread, &clock) == 0 ? syn_clock_busy_ns(clock) : 0;
}

void syn_comm_close(struct syn_comm *comm)
{
    if (!comm)
        return;
    pthread_mutex_lock(&comm->mutex);
    comm->is_closing = true;
    pthread_cond_signal(&comm->posted);
    pthread_mutex_unlock(&comm->mutex);
    pthread_join(comm->thread, NULL);
    pthread_cond_destroy(&comm->done);
    pthread_cond_destroy(&comm->posted);
    pthread_mutex_destroy(&comm->mutex);
    free(comm);
}

/* One thread, one queue. The queue is a list through the jobs themselves: posting allocates
 * nothing, and its length is bounded by how many jobs its owner has. */
#include "base/courier.h"

#include <pthread.h>
#include <stdlib.h>

struct syn_courier {
    pthread_mutex_t mutex;
    pthread_cond_t posted;
    pthread_cond_t done;
    pthread_t thread;
    struct syn_job *first;
    struct syn_job *last;
    bool is_closing;
};

/* The next job, or NULL when closing and none is left. */
static struct syn_job *next_job(struct syn_courier *courier)
{
    pthread_mutex_lock(&courier->mutex);
    while (!courier->first && !courier->is_closing)
        pthread_cond_wait(&courier->posted, &courier->mutex);
    struct syn_job *job = courier->first;
    if (job)
        courier->first = job->next;
    pthread_mutex_unlock(&courier->mutex);
    return job;
}

static void *work(void *argument)
{
    struct syn_courier *courier = argument;
    for (struct syn_job *job = next_job(courier); job; job = next_job(courier)) {
        job->run(job);
        pthread_mutex_lock(&courier->mutex);
        job->is_done = true;
        pthread_cond_broadcast(&courier->done);
        pthread_mutex_unlock(&courier->mutex);
    }
    return NULL;
}

enum syn_status syn_courier_open(struct syn_courier **courier)
{
    struct syn_courier *made = calloc(1, sizeof *made);
    if (!made)
        return syn_fail(SYN_MEMORY, "cannot allocate a communication thread");
    pthread_mutex_init(&made->mutex, NULL);
    pthread_cond_init(&made->posted, NULL);
    pthread_cond_init(&made->done, NULL);
    if (pthread_create(&made->thread, NULL, work, made) != 0) {
        pthread_cond_destroy(&made->done);
        pthread_cond_destroy(&made->posted);
        pthread_mutex_destroy(&made->mutex);
        free(made);
        return syn_fail(SYN_MEMORY, "cannot start the communication thread");
    }
    *courier = made;
    return SYN_OK;
}

void syn_courier_post(struct syn_courier *courier, struct syn_job *job)
{
    job->next = NULL;
    job->is_done = false;
    pthread_mutex_lock(&courier->mutex);
    if (courier->first)
        courier->last->next = job;
    else
        courier->first = job;
    courier->last = job;
    pthread_cond_signal(&courier->posted);
    pthread_mutex_unlock(&courier->mutex);
}

void syn_courier_wait(struct syn_courier *courier, struct syn_job *job)
{
    pthread_mutex_lock(&courier->mutex);
    while (!job->is_done)
        pthread_cond_wait(&courier->done, &courier->mutex);
    pthread_mutex_unlock(&courier->mutex);
}

void syn_courier_close(struct syn_courier *courier)
{
    if (!courier)
        return;
    pthread_mutex_lock(&courier->mutex);
    courier->is_closing = true;
    pthread_cond_signal(&courier->posted);
    pthread_mutex_unlock(&courier->mutex);
    pthread_join(courier->thread, NULL);
    pthread_cond_destroy(&courier->done);
    pthread_cond_destroy(&courier->posted);
    pthread_mutex_destroy(&courier->mutex);
    free(courier);
}

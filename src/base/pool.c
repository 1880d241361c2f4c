/* Threads sleep on a condition between loops: a spinning helper would take a core from the
 * computation. */
#include "base/pool.h"

#include <pthread.h>
#include <stdbool.h>
#include <stdlib.h>

struct member {
    struct syn_pool *pool;
    size_t lane;
    pthread_t thread;
};

struct syn_pool {
    pthread_mutex_t mutex;
    pthread_cond_t begun;
    pthread_cond_t ended;
    syn_lane *work;
    void *context;
    size_t round;   /* loops begun so far */
    size_t working; /* members that have not finished this round */
    bool is_closing;
    size_t lanes;
    size_t started; /* members whose thread is running */
    struct member members[];
};

static void *serve(void *argument)
{
    struct member *self = argument;
    struct syn_pool *pool = self->pool;
    size_t seen = 0;
    pthread_mutex_lock(&pool->mutex);
    for (;;) {
        while (pool->round == seen && !pool->is_closing)
            pthread_cond_wait(&pool->begun, &pool->mutex);
        if (pool->is_closing)
            break;
        seen = pool->round;
        syn_lane *work = pool->work;
        void *context = pool->context;
        pthread_mutex_unlock(&pool->mutex);
        work(context, self->lane);
        pthread_mutex_lock(&pool->mutex);
        if (--pool->working == 0)
            pthread_cond_signal(&pool->ended);
    }
    pthread_mutex_unlock(&pool->mutex);
    return NULL;
}

enum syn_status syn_pool_open(size_t lanes, struct syn_pool **pool)
{
    struct syn_pool *made = calloc(1, sizeof *made + lanes * sizeof made->members[0]);
    if (!made)
        return syn_fail(SYN_MEMORY, "cannot allocate a pool of %zu threads", lanes);
    pthread_mutex_init(&made->mutex, NULL);
    pthread_cond_init(&made->begun, NULL);
    pthread_cond_init(&made->ended, NULL);
    made->lanes = lanes;
    for (size_t i = 1; i < lanes; i++) {
        struct member *member = &made->members[made->started];
        *member = (struct member){.pool = made, .lane = i};
        if (pthread_create(&member->thread, NULL, serve, member) != 0) {
            syn_pool_close(made);
            return syn_fail(SYN_MEMORY, "cannot start thread %zu of %zu", i, lanes);
        }
        made->started++;
    }
    *pool = made;
    return SYN_OK;
}

size_t syn_pool_lanes(const struct syn_pool *pool)
{
    return pool->lanes;
}

void syn_pool_run(struct syn_pool *pool, syn_lane *work, void *context)
{
    pthread_mutex_lock(&pool->mutex);
    pool->work = work;
    pool->context = context;
    pool->working = pool->started;
    pool->round++;
    pthread_cond_broadcast(&pool->begun);
    pthread_mutex_unlock(&pool->mutex);
    work(context, 0);
    pthread_mutex_lock(&pool->mutex);
    while (pool->working > 0)
        pthread_cond_wait(&pool->ended, &pool->mutex);
    pthread_mutex_unlock(&pool->mutex);
}

void syn_pool_close(struct syn_pool *pool)
{
    if (!pool)
        return;
    pthread_mutex_lock(&pool->mutex);
    pool->is_closing = true;
    pthread_cond_broadcast(&pool->begun);
    pthread_mutex_unlock(&pool->mutex);
    for (size_t i = 0; i < pool->started; i++)
        pthread_join(pool->members[i].thread, NULL);
    pthread_cond_destroy(&pool->ended);
    pthread_cond_destroy(&pool->begun);
    pthread_mutex_destroy(&pool->mutex);
    free(pool);
}

/* The loader: its own threads fill a ring of batches ahead of the training thread, and sleep while
 * the ring is full. Four batches are enough to hide the shuffling at the start of an epoch, and
 * take little memory. One thread is enough for data in memory; for pictures that must be decoded
 * there may be more, each working on a batch of its own. What a batch contains depends on its
 * position alone, so it is the same whichever thread makes it.
 *
 * The ring holds `claimed` batches from `first` on, which are ready or being made; the first of
 * them is the one that is lent. Seeking waits for those that are being made, and empties the
 * ring. */
#include <syncopate/engine/data.h>

#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>

#include "engine/base/fail.h"
#include "engine/base/memory.h"
#include "engine/data/prepare.h"

#define RING         4 /* batches, and one more for each further thread */
#define MOST_THREADS 64

/* A thread, and its private data. */
struct maker {
    struct syn_loader *loader;
    struct syn_preparer preparer;
    pthread_t thread;
};

struct slot {
    struct syn_buffer buffer;
    struct syn_batch batch;
    bool is_ready;
};

struct syn_loader {
    struct maker *makers; /* [threads] */
    size_t threads;
    size_t started;
    struct slot slots[RING + MOST_THREADS - 1];
    size_t ring;                     /* slots in use */
    uint64_t batches;                /* of an epoch */
    struct syn_loader_position next; /* what the caller gets next; used by the caller only */

    pthread_mutex_t mutex; /* guards what follows */
    pthread_cond_t changed;
    struct syn_loader_position ahead; /* what is made next */
    size_t first;
    size_t claimed;
    size_t busy; /* batches being made */
    bool is_lent;
    bool is_paused; /* no new batch is begun */
    bool is_stopping;
};

struct syn_loader_options syn_loader_defaults(enum syn_data_part part, size_t batch)
{
    return (struct syn_loader_options){
        .part = part, .batch = batch, .time = 35, .workers = 1, .seed = 1};
}

static struct syn_loader_position after(const struct syn_loader *loader,
                                        struct syn_loader_position position)
{
    bool is_last = position.index + 1 == loader->batches;
    return is_last ? (struct syn_loader_position){position.epoch + 1, 0}
                   : (struct syn_loader_position){position.epoch, position.index + 1};
}

/* Wait for room and make one batch; false if it is time to stop. Called with the mutex held. */
static bool make_one(struct maker *maker)
{
    struct syn_loader *loader = maker->loader;
    while ((loader->claimed == loader->ring || loader->is_paused) && !loader->is_stopping)
        pthread_cond_wait(&loader->changed, &loader->mutex);
    if (loader->is_stopping)
        return false;
    const struct syn_loader_position position = loader->ahead;
    struct slot *slot = &loader->slots[(loader->first + loader->claimed) % loader->ring];
    loader->ahead = after(loader, position);
    loader->claimed++;
    loader->busy++;
    pthread_mutex_unlock(&loader->mutex);
    syn_preparer_fill(&maker->preparer, position, &slot->buffer, &slot->batch);
    pthread_mutex_lock(&loader->mutex);
    loader->busy--;
    slot->is_ready = true;
    pthread_cond_broadcast(&loader->changed);
    return true;
}

static void *work(void *argument)
{
    struct maker *maker = argument;
    pthread_mutex_lock(&maker->loader->mutex);
    while (make_one(maker))
        continue;
    pthread_mutex_unlock(&maker->loader->mutex);
    return NULL;
}

/* Start the threads with all signals blocked: signals are for the program's own threads. */
static enum syn_status start(struct syn_loader *loader)
{
    sigset_t all;
    sigset_t before;
    int error = 0;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    while (error == 0 && loader->started < loader->threads) {
        struct maker *maker = &loader->makers[loader->started];
        error = pthread_create(&maker->thread, NULL, work, maker);
        loader->started += error == 0;
    }
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    if (loader->started == 0)
        return syn_report(SYN_MEMORY, "cannot start the loader's thread: %s", strerror(error));
    return SYN_OK; /* fewer than wanted also work, more slowly */
}

static void release(struct syn_loader *loader)
{
    for (size_t i = 0; i < loader->ring; i++)
        syn_buffer_free(&loader->slots[i].buffer);
    for (size_t i = 0; loader->makers && i < loader->threads; i++)
        syn_preparer_close(&loader->makers[i].preparer);
    free(loader->makers);
    pthread_cond_destroy(&loader->changed);
    pthread_mutex_destroy(&loader->mutex);
    free(loader);
}

/* One thread for data in memory; as many as wanted for examples that must be made. */
static size_t count_threads(const struct syn_data *data, size_t wanted)
{
    if ((!data->pictures && !data->maker) || wanted < 1)
        return 1;
    return wanted < MOST_THREADS ? wanted : MOST_THREADS;
}

static enum syn_status set_up(struct syn_loader *loader, const struct syn_data *data,
                              const struct syn_loader_options *options)
{
    loader->threads = count_threads(data, options->threads);
    SYN_TRY(syn_engine_allocate(loader->threads, sizeof *loader->makers, &loader->makers));
    for (size_t i = 0; i < loader->threads; i++) {
        loader->makers[i].loader = loader;
        SYN_TRY(syn_preparer_open(&loader->makers[i].preparer, data, options));
    }
    loader->batches = loader->makers[0].preparer.batches;
    for (; loader->ring < RING + loader->threads - 1; loader->ring++)
        SYN_TRY(syn_buffer_new(&loader->makers[0].preparer, &loader->slots[loader->ring].buffer));
    return start(loader);
}

enum syn_status syn_loader_open(const struct syn_data *data,
                                const struct syn_loader_options *options,
                                struct syn_loader **loader)
{
    struct syn_loader *made = calloc(1, sizeof *made);
    if (!made)
        return syn_report(SYN_MEMORY, "cannot allocate a loader");
    pthread_mutex_init(&made->mutex, NULL);
    pthread_cond_init(&made->changed, NULL);
    enum syn_status status = set_up(made, data, options);
    if (status != SYN_OK) {
        release(made);
        return status;
    }
    *loader = made;
    return SYN_OK;
}

uint64_t syn_loader_batches(const struct syn_loader *loader)
{
    return loader->batches;
}

/* Take back the batch that is lent, if one is. Called with the mutex held. */
static void take_back(struct syn_loader *loader)
{
    if (!loader->is_lent)
        return;
    loader->is_lent = false;
    loader->slots[loader->first].is_ready = false;
    loader->first = (loader->first + 1) % loader->ring;
    loader->claimed--;
    pthread_cond_broadcast(&loader->changed);
}

void syn_loader_next(struct syn_loader *loader, struct syn_batch *batch)
{
    pthread_mutex_lock(&loader->mutex);
    take_back(loader);
    while (!loader->slots[loader->first].is_ready)
        pthread_cond_wait(&loader->changed, &loader->mutex);
    loader->is_lent = true;
    *batch = loader->slots[loader->first].batch;
    pthread_mutex_unlock(&loader->mutex);
    loader->next = after(loader, loader->next);
}

struct syn_loader_position syn_loader_position(const struct syn_loader *loader)
{
    return loader->next;
}

enum syn_status syn_loader_seek(struct syn_loader *loader, struct syn_loader_position position)
{
    if (position.index >= loader->batches)
        return syn_report(SYN_INVALID, "batch %llu of an epoch; it has %llu",
                          (unsigned long long)position.index, (unsigned long long)loader->batches);
    pthread_mutex_lock(&loader->mutex);
    loader->is_paused = true;
    while (loader->busy > 0)
        pthread_cond_wait(&loader->changed, &loader->mutex);
    for (size_t i = 0; i < loader->ring; i++)
        loader->slots[i].is_ready = false;
    loader->claimed = 0;
    loader->is_lent = false;
    loader->ahead = position;
    loader->is_paused = false;
    pthread_cond_broadcast(&loader->changed);
    pthread_mutex_unlock(&loader->mutex);
    loader->next = position;
    return SYN_OK;
}

void syn_loader_close(struct syn_loader *loader)
{
    if (!loader)
        return;
    pthread_mutex_lock(&loader->mutex);
    loader->is_stopping = true;
    pthread_cond_broadcast(&loader->changed);
    pthread_mutex_unlock(&loader->mutex);
    for (size_t i = 0; i < loader->started; i++)
        pthread_join(loader->makers[i].thread, NULL);
    release(loader);
}

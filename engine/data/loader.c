/* The loader: a thread of its own fills a ring of batches ahead of the training thread, and
 * sleeps while the ring is full. Four batches are enough to hide an epoch's new order, and
 * little memory.
 *
 * The ring holds `filled` batches from `first` on; the first of them is the one that is lent.
 * Seeking empties the ring and counts `turn` up: a batch that the thread was making meanwhile
 * belongs to an older turn, and is thrown away. */
#include <syncopate/engine/data.h>

#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>

#include "engine/base/fail.h"
#include "engine/data/prepare.h"

#define RING 4

struct syn_loader {
    struct syn_preparer preparer; /* the thread's alone, but for what never changes */
    struct syn_buffer buffers[RING];
    struct syn_batch batches[RING];
    struct syn_loader_position next; /* what the caller gets next; the caller's alone */

    pthread_mutex_t mutex; /* guards what follows */
    pthread_cond_t changed;
    struct syn_loader_position ahead; /* what the thread makes next */
    size_t first;
    size_t filled;
    uint64_t turn;
    bool is_lent;
    bool is_stopping;
    pthread_t thread;
};

struct syn_loader_options syn_loader_defaults(enum syn_data_part part, size_t batch)
{
    return (struct syn_loader_options){
        .part = part, .batch = batch, .time = 35, .workers = 1, .seed = 1};
}

static struct syn_loader_position after(const struct syn_loader *loader,
                                        struct syn_loader_position position)
{
    bool is_last = position.index + 1 == loader->preparer.batches;
    return is_last ? (struct syn_loader_position){position.epoch + 1, 0}
                   : (struct syn_loader_position){position.epoch, position.index + 1};
}

/* Make one batch, having waited for room; false if it is time to stop. Called with the mutex
 * held. */
static bool make_one(struct syn_loader *loader)
{
    while (loader->filled == RING && !loader->is_stopping)
        pthread_cond_wait(&loader->changed, &loader->mutex);
    if (loader->is_stopping)
        return false;
    const uint64_t turn = loader->turn;
    const struct syn_loader_position position = loader->ahead;
    const size_t slot = (loader->first + loader->filled) % RING;
    pthread_mutex_unlock(&loader->mutex);
    syn_preparer_fill(&loader->preparer, position, &loader->buffers[slot], &loader->batches[slot]);
    pthread_mutex_lock(&loader->mutex);
    if (turn == loader->turn) {
        loader->ahead = after(loader, position);
        loader->filled++;
        pthread_cond_broadcast(&loader->changed);
    }
    return true;
}

static void *work(void *argument)
{
    struct syn_loader *loader = argument;
    pthread_mutex_lock(&loader->mutex);
    while (make_one(loader))
        continue;
    pthread_mutex_unlock(&loader->mutex);
    return NULL;
}

/* Start the thread with all signals blocked: they are for the program's own threads. */
static enum syn_status start(struct syn_loader *loader)
{
    sigset_t all;
    sigset_t before;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    int error = pthread_create(&loader->thread, NULL, work, loader);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    if (error != 0)
        return syn_report(SYN_MEMORY, "cannot start the loader's thread: %s", strerror(error));
    return SYN_OK;
}

static void release(struct syn_loader *loader)
{
    for (size_t i = 0; i < RING; i++)
        syn_buffer_free(&loader->buffers[i]);
    syn_preparer_close(&loader->preparer);
    pthread_cond_destroy(&loader->changed);
    pthread_mutex_destroy(&loader->mutex);
    free(loader);
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
    enum syn_status status = syn_preparer_open(&made->preparer, data, options);
    for (size_t i = 0; status == SYN_OK && i < RING; i++)
        status = syn_buffer_new(&made->preparer, &made->buffers[i]);
    if (status == SYN_OK)
        status = start(made);
    if (status != SYN_OK) {
        release(made);
        return status;
    }
    *loader = made;
    return SYN_OK;
}

uint64_t syn_loader_batches(const struct syn_loader *loader)
{
    return loader->preparer.batches;
}

/* Take back the batch that is lent, if one is. Called with the mutex held. */
static void take_back(struct syn_loader *loader)
{
    if (!loader->is_lent)
        return;
    loader->is_lent = false;
    loader->first = (loader->first + 1) % RING;
    loader->filled--;
    pthread_cond_broadcast(&loader->changed);
}

void syn_loader_next(struct syn_loader *loader, struct syn_batch *batch)
{
    pthread_mutex_lock(&loader->mutex);
    take_back(loader);
    while (loader->filled == 0)
        pthread_cond_wait(&loader->changed, &loader->mutex);
    loader->is_lent = true;
    *batch = loader->batches[loader->first];
    pthread_mutex_unlock(&loader->mutex);
    loader->next = after(loader, loader->next);
}

struct syn_loader_position syn_loader_position(const struct syn_loader *loader)
{
    return loader->next;
}

enum syn_status syn_loader_seek(struct syn_loader *loader, struct syn_loader_position position)
{
    if (position.index >= loader->preparer.batches)
        return syn_report(SYN_INVALID, "batch %llu of an epoch; it has %llu",
                          (unsigned long long)position.index,
                          (unsigned long long)loader->preparer.batches);
    pthread_mutex_lock(&loader->mutex);
    loader->filled = 0;
    loader->is_lent = false;
    loader->turn++;
    loader->ahead = position;
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
    pthread_join(loader->thread, NULL);
    release(loader);
}

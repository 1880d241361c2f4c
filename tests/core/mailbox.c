/* The mailbox. */
#include "mailbox.h"

#include <stdlib.h>
#include <string.h>
#include <time.h>

struct message {
    struct message *next;
    size_t size;
    unsigned char bytes[];
};

struct mailbox mailbox_for(size_t workers)
{
    struct mailbox mailbox = {.mutex = PTHREAD_MUTEX_INITIALIZER,
                              .filled = PTHREAD_COND_INITIALIZER,
                              .workers = workers,
                              .sends_left = INT32_MAX};
    return mailbox;
}

/* What is under way. Sends are done at once. */
struct errand {
    bool is_receive;
    size_t peer;
    void *bytes;
    size_t count;
};

static struct errand *errand_of(bool is_receive, size_t peer, void *bytes, size_t count)
{
    struct errand *errand = malloc(sizeof *errand);
    *errand = (struct errand){is_receive, peer, bytes, count};
    return errand;
}

int mailbox_send(void *context, size_t peer, const void *bytes, size_t count, void **handle)
{
    const struct mailbox_place *place = context;
    struct message *message = malloc(sizeof *message + count);
    message->next = NULL;
    message->size = count;
    memcpy(message->bytes, bytes, count);
    pthread_mutex_lock(&place->mailbox->mutex);
    struct message **end = &place->mailbox->boxes[place->rank][peer];
    while (*end)
        end = &(*end)->next;
    bool is_refused = place->mailbox->sends_left-- <= 0;
    bool is_lost = place->mailbox->is_cut && place->rank == 0 && peer == 2;
    if (!is_refused && !is_lost)
        *end = message;
    place->mailbox->posted++;
    pthread_cond_broadcast(&place->mailbox->filled);
    pthread_mutex_unlock(&place->mailbox->mutex);
    if (is_refused || is_lost)
        free(message);
    if (is_refused)
        return 17;
    *handle = errand_of(false, peer, NULL, count);
    return 0;
}

int mailbox_receive(void *context, size_t peer, void *bytes, size_t count, void **handle)
{
    (void)context;
    *handle = errand_of(true, peer, bytes, count);
    return 0;
}

int mailbox_test(void *context, void *handle, bool *done)
{
    const struct mailbox_place *place = context;
    struct errand *errand = handle;
    *done = true;
    if (!errand->is_receive) {
        free(errand);
        return 0;
    }
    pthread_mutex_lock(&place->mailbox->mutex);
    struct message **box = &place->mailbox->boxes[errand->peer][place->rank];
    struct message *message = *box;
    if (message)
        *box = message->next;
    pthread_mutex_unlock(&place->mailbox->mutex);
    *done = message != NULL;
    if (!message)
        return place->mailbox->dead && errand->peer == place->mailbox->dead ? 5 : 0;
    int wrong = message->size == errand->count ? 0 : 1;
    if (!wrong)
        memcpy(errand->bytes, message->bytes, message->size);
    free(message);
    free(errand);
    return wrong;
}

void mailbox_cancel(void *context, void *handle)
{
    (void)context;
    free(handle);
}

/* Sleep until somebody has posted something. */
void mailbox_sleep(void *context, int64_t most_ns)
{
    struct mailbox_place *place = context;
    struct mailbox *mailbox = place->mailbox;
    struct timespec until;
    clock_gettime(CLOCK_REALTIME, &until);
    int64_t end_ns = until.tv_nsec + most_ns;
    until.tv_sec += end_ns / 1000000000;
    until.tv_nsec = end_ns % 1000000000;
    int late = 0;
    pthread_mutex_lock(&mailbox->mutex);
    while (mailbox->posted == place->seen && !late)
        late = pthread_cond_timedwait(&mailbox->filled, &mailbox->mutex, &until);
    place->seen = mailbox->posted;
    pthread_mutex_unlock(&mailbox->mutex);
}

void mailbox_empty(struct mailbox *mailbox)
{
    for (size_t from = 0; from < mailbox->workers; from++)
        for (size_t to = 0; to < mailbox->workers; to++)
            while (mailbox->boxes[from][to]) {
                struct message *message = mailbox->boxes[from][to];
                mailbox->boxes[from][to] = message->next;
                free(message);
            }
}

/* A host's own message passing: a mailbox in which messages lie in a list between each two workers
 * until somebody asks for them. */
#ifndef SYN_TEST_MAILBOX_H
#define SYN_TEST_MAILBOX_H

#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define MAILBOX_MOST 16

struct message;

struct mailbox {
    pthread_mutex_t mutex;
    pthread_cond_t filled;
    uint64_t posted; /* messages so far */
    void (*sleep)(void *context, int64_t most_ns);
    size_t workers;
    struct message *boxes[MAILBOX_MOST][MAILBOX_MOST]; /* [from][to] */
    int sends_left;                                    /* then sending fails */
    size_t dead;                                       /* receiving from it fails; 0: none */
    bool is_cut;                                       /* what worker 0 sends to worker 2 is lost */
};

struct mailbox_place {
    struct mailbox *mailbox;
    size_t rank;
    uint64_t seen; /* messages that need no waking */
};

struct mailbox mailbox_for(size_t workers);

/* The functions of a syn_caller_transport; context is a mailbox_place. Sends are done at once. */
int mailbox_send(void *context, size_t peer, const void *bytes, size_t count, void **handle);
int mailbox_receive(void *context, size_t peer, void *bytes, size_t count, void **handle);
int mailbox_test(void *context, void *handle, bool *done);
void mailbox_cancel(void *context, void *handle);
void mailbox_sleep(void *context, int64_t most_ns);

/* Throw away what nobody has asked for. */
void mailbox_empty(struct mailbox *mailbox);

#endif

/* The waiting communication thread asks hundreds of times a millisecond whether a message is there.
 * If each question entered the Python interpreter, it would compete with the training loop for the
 * interpreter's lock; so questions are answered here, from a word of memory, and Python is entered
 * only to start a message. */
#include <sched.h>
#include <string.h>

#include <syncopate/syncopate.h>

#pragma GCC visibility push(default)
#include "bridge.h"
#pragma GCC visibility pop

struct syn_bridge_sizes syn_bridge_sizes(void)
{
    return (struct syn_bridge_sizes){
        .group_options = sizeof(struct syn_group_options),
        .reducer_options = sizeof(struct syn_reducer_options),
        .worker_options = sizeof(struct syn_worker_options),
        .worker_reducer = offsetof(struct syn_worker_options, reducer),
        .worker_optimizer = offsetof(struct syn_worker_options, optimizer),
        .merged = sizeof(struct syn_merged),
    };
}

void syn_bridge_mark(int32_t *state, int32_t value)
{
    __atomic_store_n(state, value, __ATOMIC_RELEASE);
}

/* Go from one state to another; whether it was in the first. */
static bool pass(int32_t *state, int32_t from, int32_t to)
{
    return __atomic_compare_exchange_n(state, &from, to, false, __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE);
}

void syn_bridge_deliver(int32_t *state, void *to, const void *from, size_t count)
{
    if (!pass(state, SYN_BRIDGE_UNDER_WAY, SYN_BRIDGE_ARRIVING))
        return;
    memcpy(to, from, count);
    syn_bridge_mark(state, SYN_BRIDGE_DONE);
}

int syn_bridge_test(void *context, void *handle, bool *done)
{
    (void)context;
    int32_t state = __atomic_load_n((const int32_t *)handle, __ATOMIC_ACQUIRE);
    *done = state == SYN_BRIDGE_DONE || state == SYN_BRIDGE_FAILED;
    return state == SYN_BRIDGE_FAILED;
}

void syn_bridge_cancel(void *context, void *handle)
{
    (void)context;
    int32_t *state = handle;
    if (pass(state, SYN_BRIDGE_UNDER_WAY, SYN_BRIDGE_CANCELLED))
        return;
    while (__atomic_load_n(state, __ATOMIC_ACQUIRE) == SYN_BRIDGE_ARRIVING)
        sched_yield();
}

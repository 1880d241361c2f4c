/* The communication thread: everything that sends or receives on a group is work that is posted to
 * it and runs in the order of posting. It is the one place where the result of work is kept (its
 * status, cause and cost), and where a failure is announced to the other members. */
#ifndef SYN_REDUCER_COMM_H
#define SYN_REDUCER_COMM_H

#include <stdbool.h>

#include <syncopate/reducer.h>

#include "base/status.h"

struct syn_comm;

/* Something to do on the communication thread. It is the poster's memory, usually the first field
 * of a larger struct, and belongs to the communication thread from post to wait. */
struct syn_work {
    /* Runs with no lock held. What it sets is visible after syn_comm_wait(). When it fails the
     * group is abandoned with its cause. */
    enum syn_status (*run)(struct syn_work *work);
    enum syn_status status;
    char cause[SYN_ERROR_BYTES];
    struct syn_cost cost;  /* bytes and exchange_ms */
    struct syn_work *next; /* used by the communication thread */
    bool is_done;          /* likewise */
};

/* Start the thread.
 *   group  lent until syn_comm_close() */
enum syn_status syn_comm_open(struct syn_group *group, struct syn_comm **comm);

/* Hand over work and return at once. Never fails, allocates nothing. */
void syn_comm_post(struct syn_comm *comm, struct syn_work *work);

/* Wait until that work has run. Returns its status; its cause is syn_error_text() again. May be
 * called more than once. */
enum syn_status syn_comm_wait(struct syn_comm *comm, struct syn_work *work);

/* CPU time of its thread, in nanoseconds. */
int64_t syn_comm_busy_ns(struct syn_comm *comm);

/* Run all posted work, then end the thread. NULL is harmless. */
void syn_comm_close(struct syn_comm *comm);

#endif

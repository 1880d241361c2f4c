/* A thread that runs jobs one after the other, in the order of posting: the communication
 * thread. */
#ifndef SYN_BASE_COURIER_H
#define SYN_BASE_COURIER_H

#include <stdbool.h>

#include "base/status.h"

struct syn_courier;

/* A job. The poster's memory; belongs to the courier from post to wait. */
struct syn_job {
    /* Runs on the courier's thread, with no lock held. What it sets is visible after
     * syn_courier_wait(). */
    void (*run)(struct syn_job *job);
    struct syn_job *next; /* the courier's own */
    bool is_done;         /* the courier's own */
};

enum syn_status syn_courier_open(struct syn_courier **courier);

/* Hand over a job and return at once. Never fails, allocates nothing. */
void syn_courier_post(struct syn_courier *courier, struct syn_job *job);

/* Wait until that job has run. */
void syn_courier_wait(struct syn_courier *courier, struct syn_job *job);

/* Run what is posted, then end the thread. NULL is harmless. */
void syn_courier_close(struct syn_courier *courier);

#endif

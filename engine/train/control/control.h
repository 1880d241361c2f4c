/* Ending a run early and saving it at intervals: what the user's watcher requests, and how the
 * workers agree on it. */
#ifndef SYN_ENGINE_TRAIN_CONTROL_H
#define SYN_ENGINE_TRAIN_CONTROL_H

#include "engine/train/replica/replica.h"

/* What workers tell each other from time to time. */
struct syn_wish {
    uint64_t wants_stop;
    uint64_t wants_save; /* worker 0's decides */
    uint64_t was_cut;
    uint64_t step;
    int64_t asked_ns; /* since the last time */
};

/* Asking each other from time to time. */
struct syn_poll {
    struct syn_wish *wishes; /* [workers] buffer for everyone's */
    bool is_under_way;
    uint64_t next_step; /* at which they ask again */
    uint64_t last_step; /* of the last time, and its time */
    int64_t last_ns;
};

struct syn_control {
    struct syn_replica *replica;  /* lent */
    struct syn_train_watch watch; /* worker 0's; the others have only stops */
    struct syn_stop_hook hook;    /* for the model; stops is NULL if no step may be given up */
    struct syn_poll poll;
    int64_t step_ns;     /* when this step began */
    int64_t saved_ns;    /* when the last checkpoint was written, or the run began */
    bool is_handed_over; /* all of this step's gradient is; the step is completed */
    bool wants_stop;     /* the watcher asked for it */
    bool was_cut;        /* this worker gave up a step */
    bool stopped;        /* all workers know */
    bool wants_save;     /* a checkpoint is due; all workers know */
};

/* Prepare.
 *   replica  built; lent until control is closed
 *   control  zeroed; close it even after a failure */
enum syn_status syn_control_open(struct syn_replica *replica, struct syn_control *control);

/* Set the watcher, which may end a step in the middle if it has stops. */
void syn_control_watch(struct syn_control *control, const struct syn_train_watch *watch);

/* The hook for a model's examples, or NULL if no step can be given up. */
const struct syn_stop_hook *syn_control_hook(const struct syn_control *control);

/* Start the clocks. */
void syn_control_start(struct syn_control *control);

/* Show the watcher how far the run is; wants_stop is set if it asks to stop. */
void syn_control_progress(struct syn_control *control, const struct syn_train_progress *progress);

/* Whether a step that is given up can be undone on all workers: a NaN gradient tells peers that
 * wait for it that the step did not happen. With a delay, or with servers, that would cost more
 * than the step. */
bool syn_control_can_undo(const struct syn_control *control);

/* After a step that failed because of non-finite numbers: find out whether a worker gave it up; if
 * so, the run has stopped before that step. Collective; otherwise fails as the step did. */
enum syn_status syn_control_find_cut(struct syn_control *control);

/* Ask the others from time to time whether any wants to stop, and whether a checkpoint is due.
 * Collective.
 *   meets  the workers meet after this step anyway */
enum syn_status syn_control_ask(struct syn_control *control, bool meets);

/* Receive answers that are still under way; they come too late to be used. Collective. */
enum syn_status syn_control_finish(struct syn_control *control);

void syn_control_close(struct syn_control *control);

#endif

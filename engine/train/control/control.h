/* Ending a run early and saving it by the clock: what the user's watcher wants, and how the workers
 * agree on it. */
#ifndef SYN_ENGINE_TRAIN_CONTROL_H
#define SYN_ENGINE_TRAIN_CONTROL_H

#include "engine/train/replica/replica.h"

/* What workers tell each other in passing. */
struct syn_wish {
    uint64_t wants_stop;
    uint64_t wants_save; /* worker 0's counts */
    uint64_t was_cut;
    uint64_t step;
    int64_t asked_ns; /* since the last time */
};

/* Asking each other now and then. */
struct syn_poll {
    struct syn_wish *wishes; /* [workers] room to hear everyone's */
    bool is_under_way;
    uint64_t next_step; /* at which they ask each other again */
    uint64_t last_step; /* of the last time, and when that was */
    int64_t last_ns;
};

struct syn_control {
    struct syn_replica *replica;  /* lent */
    struct syn_train_watch watch; /* worker 0's; the others have stops alone */
    struct syn_stop_hook hook;    /* for the model; stops is NULL if no step is to be given up */
    struct syn_poll poll;
    int64_t step_ns;     /* when this step began */
    int64_t saved_ns;    /* when the last checkpoint was written, or the run began */
    bool is_handed_over; /* all tensors of this step's gradient are; the step is made */
    bool wants_stop;     /* the watcher has said so */
    bool was_cut;        /* this worker gave a step up */
    bool stopped;        /* all workers know */
    bool wants_save;     /* a checkpoint is due; all workers know */
};

/* Make ready.
 *   replica  built; lent as long as there is control
 *   control  zeroed; close it even after a failure */
enum syn_status syn_control_open(struct syn_replica *replica, struct syn_control *control);

/* Take the watcher's side: it may end a step in its middle, if it wants to be able to. */
void syn_control_watch(struct syn_control *control, const struct syn_train_watch *watch);

/* The hook for a model's examples, or NULL if no step can be given up. */
const struct syn_stop_hook *syn_control_hook(const struct syn_control *control);

/* The clocks start here. */
void syn_control_start(struct syn_control *control);

/* Show the watcher how far the run is; wants_stop is set if it says so. */
void syn_control_tell(struct syn_control *control, const struct syn_train_progress *progress);

/* Whether a step that is given up can be undone on all workers: peers that wait for each other's
 * gradients are told by one that is not a number that it did not happen. With a delay, or with
 * servers, that would cost more than the step. */
bool syn_control_can_undo(const struct syn_control *control);

/* After a step that failed because of numbers: find out whether a worker gave it up; if so, the run
 * has stopped before that step. Collective; otherwise fails as the step did. */
enum syn_status syn_control_find_cut(struct syn_control *control);

/* Hear from the others now and then who wants to stop, and whether a checkpoint is due by the
 * clock. Collective.
 *   meets  the workers meet after this step anyway */
enum syn_status syn_control_ask(struct syn_control *control, bool meets);

/* Take in answers that are still under way; they come too late to count. Collective. */
enum syn_status syn_control_finish(struct syn_control *control);

void syn_control_close(struct syn_control *control);

#endif

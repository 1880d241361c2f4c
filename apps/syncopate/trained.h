/* Shared by commands that use trained weights: the weights of a run or a file, and their
 * settings. */
#ifndef SYN_APP_TRAINED_H
#define SYN_APP_TRAINED_H

#include <syncopate/engine/train.h>
#include <syncopate/engine/weights.h>

#include "command.h"

struct trained {
    bool needs_data; /* set by the caller: the data set itself is read, also for a run */
    struct syn_train_options options; /* of the run, or the usual ones of the file's model */
    struct syn_weights *weights;
};

/* Read the command line: the first argument is a run or a file of weights, which is opened; typed
 * flags for data, model, batch and threads override its own settings.
 *   own  the command's own flags, filled in */
enum syn_status trained_open(const struct command *self, const struct flag_set *own, int argc,
                             char **argv, struct trained *trained, struct flags *flags);

void trained_close(struct trained *trained);

#endif

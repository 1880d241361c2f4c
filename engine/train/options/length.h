/* What follows the length of a run: milestones and warm-ups that nobody has set. */
#ifndef SYN_ENGINE_TRAIN_LENGTH_H
#define SYN_ENGINE_TRAIN_LENGTH_H

#include <stddef.h>
#include <stdint.h>

#include <syncopate/engine/train.h>

/* How long a run is, in steps of all its epochs. */
struct syn_length {
    uint64_t steps;
    uint64_t steps_per_epoch;
};

/* Put numbers in place of all that follows the length of the run: milestones become epochs, usual
 * warm-ups are shortened to their share of the run. What was set stays. Again: nothing changes. */
void syn_length_resolve(struct syn_length length, struct syn_train_options *options);

/* What of the options will never begin, because it is to begin after the last step: one line, empty
 * if all of it does. */
void syn_length_find_idle(struct syn_length length, const struct syn_train_options *options,
                          char *text, size_t capacity);

/* Where a run stands that is resumed: after so many of its steps. */
struct syn_length_place {
    uint64_t step;
    struct syn_length length;
};

/* A run that goes on with another length than it was begun with: let its learning rate go on from
 * where it was. A schedule that would jump up begins anew for the steps that are left.
 *   text  one line about what changes, empty if nothing does */
void syn_length_change(struct syn_length_place before, struct syn_length_place now,
                       struct syn_train_options *options, char *text, size_t capacity);

#endif

/* What a run is asked to do: checking its options, and what follows from the length of the run
 * where nobody has set it. Pure functions of the options. */
#ifndef SYN_ENGINE_TRAIN_OPTIONS_H
#define SYN_ENGINE_TRAIN_OPTIONS_H

#include <stddef.h>
#include <stdint.h>

#include <syncopate/engine/train.h>

/* Check every field by its row and what the rows cannot know. CHOICE fields are replaced by copies
 * that outlive the caller's. */
enum syn_status syn_train_check(struct syn_train_options *options);

#define SYN_MODEL_OWN "own" /* the model of a file, or the caller's graph */

/* Whether servers apply each gradient by itself. */
bool syn_train_is_async(const struct syn_train_options *options);

/* Whether the method is to be chosen when the workers have met. */
bool syn_train_is_auto(const struct syn_train_options *options);

/* The density that a warm-up begins with. */
#define SYN_FIRST_DENSITY 0.25

/* How many epochs the warm-up of the density takes, and what the density is at this epoch. */
double syn_train_density_warmup(const struct syn_train_options *options);
double syn_train_density(const struct syn_train_options *options, double epoch);

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
 * where it was. A schedule that would jump up begins again for the steps that are left.
 *   text  one line about what changes, empty if nothing does */
void syn_length_change(struct syn_length_place before, struct syn_length_place now,
                       struct syn_train_options *options, char *text, size_t capacity);

#endif

/* Checking the options of a run, and resolving those that depend on its length where the user has
 * not set them. Pure functions of the options. */
#ifndef SYN_ENGINE_TRAIN_OPTIONS_H
#define SYN_ENGINE_TRAIN_OPTIONS_H

#include <stddef.h>
#include <stdint.h>

#include <syncopate/engine/train.h>

/* Check every field against its row, and what the rows cannot express. CHOICE fields are replaced
 * by copies that outlive the caller's. */
enum syn_status syn_train_check(struct syn_train_options *options);

#define SYN_MODEL_OWN "own" /* the model of a file, or the caller's graph */

/* Whether servers apply each gradient separately. */
bool syn_train_is_async(const struct syn_train_options *options);

/* Whether the method is chosen after the workers have met. */
bool syn_train_is_auto(const struct syn_train_options *options);

/* The density that a warm-up begins with. */
#define SYN_FIRST_DENSITY 0.25

/* How many epochs the warm-up of the density takes, and what the density is at this epoch. */
double syn_train_density_warmup(const struct syn_train_options *options);
double syn_train_density(const struct syn_train_options *options, double epoch);

/* The length of a run, in steps over all epochs. */
struct syn_length {
    uint64_t steps;
    uint64_t steps_per_epoch;
};

/* Replace everything that depends on the length of the run by numbers: milestones become epochs,
 * default warm-ups are shortened to their share of the run. What the user set stays. Idempotent. */
void syn_length_resolve(struct syn_length length, struct syn_train_options *options);

/* Which option never takes effect, because it would begin after the last step: one line, empty if
 * there is none. */
void syn_length_find_idle(struct syn_length length, const struct syn_train_options *options,
                          char *text, size_t capacity);

/* The position of a resumed run: after that many of its steps. */
struct syn_length_place {
    uint64_t step;
    struct syn_length length;
};

/* For a run that is resumed with another length: let its learning rate continue from where it was.
 * A schedule that would jump up restarts for the remaining steps.
 *   text  one line about the change, empty if there is none */
void syn_length_change(struct syn_length_place before, struct syn_length_place now,
                       struct syn_train_options *options, char *text, size_t capacity);

#endif

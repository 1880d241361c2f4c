/* Looking at the options of a run before anything is done. */
#ifndef SYN_ENGINE_TRAIN_OPTIONS_H
#define SYN_ENGINE_TRAIN_OPTIONS_H

#include <syncopate/engine/train.h>

/* Check every field by its row and what the rows cannot know. CHOICE
 * fields are replaced by copies that outlive the caller's. */
enum syn_status syn_train_check(struct syn_train_options *options);

/* Whether servers apply each gradient by itself. */
bool syn_train_is_async(const struct syn_train_options *options);
/* Whether the method is to be chosen when the workers have met. */
bool syn_train_is_auto(const struct syn_train_options *options);

/* The density that a warm-up begins with. */
#define SYN_FIRST_DENSITY 0.25

/* How many epochs the warm-up of the density takes, and what the density is at this epoch. */
double syn_train_density_warmup(const struct syn_train_options *options);
double syn_train_density(const struct syn_train_options *options, double epoch);

#endif

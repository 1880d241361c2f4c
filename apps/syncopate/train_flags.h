/* The settings of a run, which train and advise read from their flags. */
#ifndef SYNCOPATE_TRAIN_FLAGS_H
#define SYNCOPATE_TRAIN_FLAGS_H

#include <syncopate/engine/train.h>

#include "command.h"

#define OWN_MODEL "own" /* the model that a file or a C program describes */

#define TRAIN_FLAG_SETS 6

/* The sets of flags that describe a run, into the first TRAIN_FLAG_SETS of an array. */
void train_flag_sets(struct syn_train_options *options, struct flag_set *sets);

/* Read the flags for the first time, before the defaults that depend on some of them are known:
 * words that are not flags are refused, and a model file implies OWN_MODEL. flags_read() is to
 * follow. */
enum syn_status train_flags_parse(const struct command *self, const struct flag_set *sets,
                                  size_t count, int argc, char **argv,
                                  struct syn_train_options *options, struct flags *flags);

#endif

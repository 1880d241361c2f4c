/* What tests of training share: a directory of their own, short runs into it, and going on with
 * them. */
#ifndef SYN_TEST_TRAIN_RUNS_H
#define SYN_TEST_TRAIN_RUNS_H

#include <syncopate/engine/train.h>

#define RUNS_PATH 512

/* Group set-up and tear-down. */
int runs_begin(void **state);
int runs_end(void **state);

/* The directory, and a path in it, valid until the next call. */
extern char runs_home[64];
const char *runs_path(const char *name);

/* A model for runs_of: a perceptron of 26,506 weights. What these tests promise does not depend on
 * the size of the network; the time to write and read its checkpoints does. */
#define RUNS_SMALL "own"

/* A run of a model on few made-up images into the directory of that name; no rate of zero, so that
 * every step counts. */
struct syn_train_options runs_of(const char *model, const char *name);

/* Choose the method, with a short warm-up and a density that suits small models. */
void runs_use_algo(struct syn_train_options *options, const char *algo);

/* Train to the end. */
struct syn_train_summary runs_train(const struct syn_train_options *options);

/* The same with a checkpoint after every so many steps; the directory as it was when the first of
 * them was complete, as a kill would have left it, is copied to OUT-first, when the second was to
 * OUT-second. */
struct syn_train_summary runs_train_copying(const struct syn_train_options *options,
                                            uint64_t every);

/* The path of a run's copy, valid until the next call. */
const char *runs_copy(const struct syn_train_options *options, const char *which);

/* Options to go on with the run in a directory. */
struct syn_train_options runs_resumed(const char *directory);

#endif

/* This worker's copy of the model, its data, and its position in the run: what every part of
 * training works on. Metrics, evaluation, checkpoints and the loop each add their own state, and
 * are lent a replica. */
#ifndef SYN_ENGINE_TRAIN_REPLICA_H
#define SYN_ENGINE_TRAIN_REPLICA_H

#include <syncopate/engine/train.h>

#include "engine/train/options/options.h"
#include "engine/train/replica/batches.h"
#include "engine/train/replica/gather.h"
#include "engine/train/replica/gradient.h"
#include "engine/train/replica/places.h"
#include "engine/train/replica/update.h"

/* The position of a run. */
struct syn_position {
    uint64_t step;            /* updates made */
    uint64_t steps;           /* to be made in total */
    uint64_t steps_per_epoch; /* with this number of workers */
    int64_t ahead; /* batches consumed minus updates made: not 0 once workers have changed */
};

struct syn_replica {
    struct syn_train_options options;
    struct syn_group *group; /* lent */
    size_t rank;
    uint64_t threads; /* of this worker */
    char *hosts;      /* hosts and threads of all workers, as in settings.json */
    struct syn_data *data;
    bool on_text;
    struct syn_loader *batches; /* of the training part */
    struct syn_model *model;
    size_t params;
    float *weights; /* [params] to compute at */
    float *global;  /* [params] the weights that would be saved; NULL on a server */
    struct syn_update update;
    struct syn_position at;
};

/* How many batches of the training part have been consumed, over all epochs. */
uint64_t syn_position_place(const struct syn_position *at);

/* The same in epochs. */
double syn_position_epoch(const struct syn_position *at);

/* The length of the run, in batches of the training part. */
struct syn_length syn_position_length(const struct syn_position *at);

/* Check the options, share the cores among the workers, open the data. Collective where workers are
 * processes.
 *   replica  zeroed; close it even after a failure */
enum syn_status syn_replica_open(const struct syn_train_options *options, struct syn_group *group,
                                 struct syn_replica *replica);

/* Build the model, with its initial weights.
 *   batch  the most examples that it will be given at once */
enum syn_status syn_replica_build(struct syn_replica *replica, uint64_t batch);

/* Set the model's initial weights: random from the seed, or those that the options name. */
enum syn_status syn_replica_initialise(struct syn_replica *replica);

/* Whether this member is a parameter server, which neither trains nor writes files. */
bool syn_replica_serves(const struct syn_replica *replica);

/* A hash of any weights, and of the global ones. */
uint64_t syn_weights_hash(const float *weights, size_t count);
uint64_t syn_replica_hash(const struct syn_replica *replica);

void syn_replica_close(struct syn_replica *replica);

#endif

/* This worker's copy of the model, what it learns from, and where in the run it stands: what every
 * part of training works on. Metrics, evaluation, checkpoints and the loop each add their own
 * state, and have a replica lent. */
#ifndef SYN_ENGINE_TRAIN_REPLICA_H
#define SYN_ENGINE_TRAIN_REPLICA_H

#include <syncopate/engine/train.h>

#include "engine/train/options/options.h"
#include "engine/train/replica/batches.h"
#include "engine/train/replica/gather.h"
#include "engine/train/replica/gradient.h"
#include "engine/train/replica/places.h"
#include "engine/train/replica/update.h"

/* Where a run stands. */
struct syn_position {
    uint64_t step;            /* updates made */
    uint64_t steps;           /* to be made in all */
    uint64_t steps_per_epoch; /* with this number of workers */
    int64_t ahead; /* batches gone through, less updates made: not 0 once workers have changed */
};

struct syn_replica {
    struct syn_train_options options;
    struct syn_group *group; /* lent */
    size_t rank;
    uint64_t threads; /* that this worker computes on */
    char *hosts;      /* on what all do, as settings.json has it */
    struct syn_data *data;
    bool on_text;
    struct syn_loader *batches; /* of the training part */
    struct syn_model *model;
    size_t params;
    float *weights; /* [params] to compute at */
    float *global;  /* [params] the model as it would be saved; NULL on a server */
    struct syn_update update;
    struct syn_position at;
};

/* How many batches of the training part have been gone through, all epochs counted. */
uint64_t syn_position_place(const struct syn_position *at);

/* The same in epochs. */
double syn_position_epoch(const struct syn_position *at);

/* How long the run is, in batches of the training part. */
struct syn_length syn_position_length(const struct syn_position *at);

/* Check the options, share the cores among the workers, open the data. Collective where workers are
 * processes.
 *   replica  zeroed; close it even after a failure */
enum syn_status syn_replica_open(const struct syn_train_options *options, struct syn_group *group,
                                 struct syn_replica *replica);

/* Build the model, with its first weights.
 *   batch  the most examples that it will be given at once */
enum syn_status syn_replica_build(struct syn_replica *replica, uint64_t batch);

/* Give the model its first weights: drawn from the seed, or those that the options name. */
enum syn_status syn_replica_initialise(struct syn_replica *replica);

/* Whether this member is a parameter server, which neither learns nor writes files. */
bool syn_replica_serves(const struct syn_replica *replica);

/* A hash of weights, and of the global ones. */
uint64_t syn_weights_hash(const float *weights, size_t count);
uint64_t syn_replica_hash(const struct syn_replica *replica);

void syn_replica_close(struct syn_replica *replica);

#endif

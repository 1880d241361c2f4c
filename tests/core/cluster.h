/* A cluster with parameter servers, whose members run on threads or under MPI: workers minimise a
 * quadratic problem, servers serve, and everyone leaves an account. */
#ifndef SYN_TEST_CLUSTER_H
#define SYN_TEST_CLUSTER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <syncopate/worker.h>

#include "workers.h"

#define CLUSTER_SIZE 1003 /* most weights */

struct cluster {
    struct syn_worker_options options;
    size_t servers; /* the group's last members; the others are workers */
    size_t steps;
    double lr;
    const size_t *tensors; /* as of scenario.h; NULL: an odd set of CLUSTER_SIZE in all */
    const struct syn_tensor_policy *policies; /* [tensor], or NULL */
    size_t settle_every;                      /* 0: only at the end */
    bool by_tensor;                           /* tensors become ready one by one */
    bool is_free;                             /* gradients do not depend on the weights */
    bool is_common;                           /* all workers have the same problem, without noise */

    /* (optional) Something to do before a worker's step; false: close now. */
    bool (*before)(struct cluster *cluster, size_t rank, size_t step, float *gradient);

    float first[CLUSTER_SIZE]; /* weights to begin from; none is zero */
    enum syn_status status[WORKERS_MOST];
    char cause[WORKERS_MOST][512];
    uint64_t hash[WORKERS_MOST];                /* of all weights that were handed out */
    float last[WORKERS_MOST][CLUSTER_SIZE];     /* those handed out last */
    float weights[WORKERS_MOST][CLUSTER_SIZE];  /* the settled ones */
    float residual[WORKERS_MOST][CLUSTER_SIZE]; /* what was left then */
    double handed[WORKERS_MOST][CLUSTER_SIZE];  /* the sum of gradients */
    struct syn_cost cost[WORKERS_MOST];         /* of all steps, without settling */
};

/* A run of a recipe, allocated; free() it. Warm-up is short, and everything is compared often. */
struct cluster *cluster_of(const char *recipe, size_t servers);

/* Change a setting of the worker's, the reducer's or the optimizer's, whichever has it. */
enum syn_status cluster_set(struct cluster *cluster, const char *name, const char *value);

size_t cluster_size(const struct cluster *cluster);

/* A worker_function; context is the cluster. */
void cluster_member(struct syn_group *group, size_t rank, void *context);

#endif

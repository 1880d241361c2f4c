/* A run on parameter servers that any member can play, on threads or under MPI: workers pull at a
 * bowl, servers serve, and everyone leaves an account. */
#ifndef SYN_TEST_CREW_H
#define SYN_TEST_CREW_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <syncopate/worker.h>

#include "team.h"

#define CREW_SIZE 1003 /* most weights */

struct crew {
    struct syn_worker_options options;
    size_t servers; /* the group's last members; the others are workers */
    size_t steps;
    double lr;
    const size_t *tensors; /* as of scenario.h; NULL: an odd set of CREW_SIZE in all */
    size_t settle_every;   /* 0: only at the end */
    bool by_tensor;        /* tensors become ready one by one */
    bool is_free;          /* gradients do not depend on the weights */
    bool is_common;        /* all workers have the same bowl, without noise */

    /* (optional) Something to do before a worker's step; false: close now. */
    bool (*before)(struct crew *crew, size_t rank, size_t step, float *gradient);

    float first[CREW_SIZE]; /* weights to begin from; none is zero */
    enum syn_status status[TEAM_MOST];
    char cause[TEAM_MOST][512];
    uint64_t hash[TEAM_MOST];             /* of all weights that were handed out */
    float last[TEAM_MOST][CREW_SIZE];     /* those handed out last */
    float weights[TEAM_MOST][CREW_SIZE];  /* the settled ones */
    float residual[TEAM_MOST][CREW_SIZE]; /* what was left then */
    double handed[TEAM_MOST][CREW_SIZE];  /* the sum of gradients */
    struct syn_cost cost[TEAM_MOST];      /* of all steps, without settling */
};

/* A run of a recipe, allocated; free() it. Warm-up is short, and everything is compared often. */
struct crew *crew_of(const char *recipe, size_t servers);

/* Change a setting of the worker's, the reducer's or the optimizer's, whichever has it. */
enum syn_status crew_set(struct crew *crew, const char *name, const char *value);

size_t crew_size(const struct crew *crew);

/* A team_member; context is the crew. */
void crew_member(struct syn_group *group, size_t rank, void *context);

#endif

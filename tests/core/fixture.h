/* What the workers of a test of the reducer share: the options they open with, what each of them
 * found, and the few calls that every such test makes. Workers must not use cmocka's assertions,
 * which may only fail on the main thread; so they leave what they find here. */
#ifndef SYN_TEST_FIXTURE_H
#define SYN_TEST_FIXTURE_H

#include <stdbool.h>

#include <syncopate/reducer.h>

#include "scenario.h"
#include "workers.h"

/* Floats in the layout of a fixture: tensors t0, t1, t2 of 400, 300 and 200. */
enum { FIXTURE_SIZE = 900 };

struct fixture {
    struct syn_reducer_options options;
    const size_t *tensors;
    size_t workers;                    /* once it runs */
    size_t odd_one;                    /* the worker that behaves differently */
    float bad;                         /* what it puts into its gradient */
    enum syn_status got[WORKERS_MOST]; /* of the call under test */
    char cause[WORKERS_MOST][512];
    bool holds[WORKERS_MOST];    /* the promise under test, as each worker saw it */
    uint64_t hash[WORKERS_MOST]; /* of what each worker got */
    double handed
        [WORKERS_MOST]; /* the sum of all entries handed over, applied, and left in the residual */
    double applied[WORKERS_MOST];
    double left[WORKERS_MOST];
};

/* With the options of a recipe, at a density of 0.05, and worker 1 as the odd one. */
struct fixture fixture_for(const char *recipe);

/* What every worker does with the reducer that was opened for it, and is closed behind it. */
typedef void fixture_function(struct fixture *fixture, struct syn_reducer *reducer, size_t rank);

/* Run it with so many workers, who wait for each other that long. Who cannot open notes that. */
void fixture_run(struct fixture *fixture, size_t workers, unsigned milliseconds,
                 fixture_function *act);

/* Open as the fixture says. */
enum syn_status fixture_open(const struct fixture *fixture, struct syn_group *group,
                             struct syn_reducer **reducer);

/* A whole step.
 *   step  NULL: as the options say
 *   sum   [FIXTURE_SIZE], set on success only */
enum syn_status fixture_step(struct syn_reducer *reducer, const float *gradient,
                             const struct syn_step *step, float *sum);

/* Keep a worker's status with its cause. */
void fixture_note(struct fixture *fixture, size_t rank, enum syn_status status);

#endif

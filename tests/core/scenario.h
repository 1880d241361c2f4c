/* A run of the reducer for every worker, on threads or under MPI: the same steps on made-up
 * gradients, with an account of what went in, what came out and what is left. */
#ifndef SYN_TEST_SCENARIO_H
#define SYN_TEST_SCENARIO_H

#include <stddef.h>
#include <stdint.h>

#include <syncopate/reducer.h>

/* The thread sanitizer makes a step ten times slower, and sees a race in the first steps and with
 * few workers, or never: there, scenarios are as many, but shorter. Of numbers of workers in rising
 * order, FEWER() says how many are used. */
#ifdef __SANITIZE_THREAD__
#define SCENARIO_STEPS 15
#define FEWER(counts)                                                                              \
    (sizeof(counts) / sizeof(counts)[0] < 5 ? sizeof(counts) / sizeof(counts)[0] : 5)
#else
#define SCENARIO_STEPS 50
#define FEWER(counts)  (sizeof(counts) / sizeof(counts)[0])
#endif

/* Kinds of gradients. */
enum gradients { RANDOM, ZEROS, EQUAL, TINY_INTEGERS, CONSTANT, GRADIENTS };

struct scenario {
    const char *name;
    const char *recipe;
    const char *settings[8][2]; /* over the recipe's, up to the first without a name */
    float scale;                /* of each step; 0: 1 */
    enum gradients gradients;
    size_t steps;          /* 0: SCENARIO_STEPS */
    const size_t *tensors; /* sizes, up to the first SIZE_MAX; NULL: a default set of 1003 in all */
    const struct syn_tensor_policy *policies; /* [tensor], or NULL */
};

/* What became of it on one worker. Arrays are owned; release with account_free(). */
struct account {
    enum syn_status status;
    char cause[512];
    size_t size;
    uint64_t hash;         /* of all sums delivered */
    double *handed;        /* [size] scale * all gradients of this worker */
    double *applied;       /* [size] all sums delivered */
    float *residual;       /* [size] what is left; zeros if nothing is kept */
    double *forgotten;     /* [size] what the residual forgot, as its share of what it held */
    double told_forgotten; /* the sum of that, as the reducer tells it */
    uint64_t bytes_out;    /* over all steps, likewise the next two */
    uint64_t bytes_in;
    uint64_t taken_back;
    size_t most_selected;
    size_t misplaced; /* entries of sums that are zero or do not follow the one before */
};

/* Every scenario that contract tests run; ends with one without a name. */
extern const struct scenario all_scenarios[];

/* Policies of the default set: of 500 entries, 1, 0, 301 and 201. */
extern const struct syn_tensor_policy scenario_shares[];

/* Fill worker rank's gradient of a step. */
void scenario_gradient(enum gradients kind, size_t rank, size_t step, float *gradient, size_t size);

/* Weights to begin from, none of them zero, so that what takes zeros for them shows. */
void scenario_weights(float *weights, size_t size);

/* Values "auto" become f32: what is compared with arithmetic must not be rounded. Forms that round
 * are scenarios of their own. */
void scenario_be_exact(struct syn_reducer_options *options);

/* The options of a scenario; exact unless it names another form of values. */
enum syn_status scenario_options(const struct scenario *scenario,
                                 struct syn_reducer_options *options);

/* A layout of tensors of these sizes. */
enum syn_status scenario_layout(const size_t *tensors, struct syn_layout **layout);

/* Give every tensor its policy.
 *   policies  [tensor], or NULL: none */
enum syn_status scenario_policies(const struct syn_tensor_policy *policies,
                                  struct syn_layout *layout);

/* Run it as this worker. Never fails itself: the account says how it went. */
void scenario_run(const struct scenario *scenario, struct syn_group *group,
                  struct account *account);

void account_free(struct account *account);

#endif

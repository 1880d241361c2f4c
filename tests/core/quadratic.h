/* A problem for workers: each minimises a quadratic function with a centre of its own, so that
 * gradients depend on the weights and workers disagree. */
#ifndef SYN_TEST_QUADRATIC_H
#define SYN_TEST_QUADRATIC_H

#include <stddef.h>

#include <syncopate/worker.h>

enum { QUADRATIC_SIZE = 900 };

/* Sizes of its tensors, for scenario_layout(). */
extern const size_t quadratic_tensors[];

/* Worker rank's gradient at these weights, with noise of its own for each step. */
void quadratic_gradient(size_t rank, size_t step, const float *weights, float *gradient);

/* A recipe's options, with short warm-up, weight decay and frequent comparisons. */
struct syn_worker_options quadratic_options(const char *recipe);

#endif

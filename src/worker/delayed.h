/* Steps with a delay. */
#ifndef SYN_WORKER_DELAYED_H
#define SYN_WORKER_DELAYED_H

#include <syncopate/worker.h>

/* Allocate what the local update needs. */
enum syn_status syn_delayed_open(struct syn_worker *worker, const float *weights);

/* The factor that clips the worker's own gradient as the mean gradient, which it replaces, would be
 * clipped. */
float syn_delayed_clip(const struct syn_worker *worker, const float *gradient);

/* The weight of the worker's own gradient in local updates that have one. */
float syn_delayed_alpha(const struct syn_worker *worker);

enum syn_status syn_delayed_step(struct syn_worker *worker, const float *gradient,
                                 const struct syn_rates *rates, float *weights);

#endif

/* Steps that are one step late, where the worker has the global optimizer itself. */
#ifndef SYN_WORKER_AHEAD_H
#define SYN_WORKER_AHEAD_H

#include <syncopate/worker.h>

/* Whether the worker's options and store allow it. */
bool syn_ahead_suits(const struct syn_worker *worker);

enum syn_status syn_ahead_step(struct syn_worker *worker, const float *gradient,
                               const struct syn_rates *rates, float *weights);

#endif

/* Small collective calls of a worker besides its gradients. They run on the communication thread,
 * like everything that sends. */
#ifndef SYN_WORKER_COLLECTIVE_H
#define SYN_WORKER_COLLECTIVE_H

#include <syncopate/status.h>

struct syn_worker;

/* Check that all workers have the same weights. */
enum syn_status syn_worker_compare(struct syn_worker *worker, const float *weights);

#endif

/* Options as a worker uses them. */
#ifndef SYN_WORKER_OPTIONS_H
#define SYN_WORKER_OPTIONS_H

#include <syncopate/worker.h>

/* Check them all and put in what follows from others.
 *   momentum  the effective one, wherever it is applied */
enum syn_status syn_worker_resolve(struct syn_worker_options *options, double *momentum);

/* "global", "corrected", "none". */
const char *syn_momentum_form_name(size_t i);

#endif

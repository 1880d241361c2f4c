/* Options as a worker uses them. */
#ifndef SYN_WORKER_OPTIONS_H
#define SYN_WORKER_OPTIONS_H

#include <syncopate/worker.h>

/* Check them all and put in what follows from others.
 *   servers   of the group; SYN_SERVERS_UNKNOWN: there may be some
 *   momentum  the effective one, wherever it is applied */
#define SYN_SERVERS_UNKNOWN SIZE_MAX
enum syn_status syn_worker_resolve(struct syn_worker_options *options, size_t servers,
                                   double *momentum);

/* Settings of the optimizer that are to hold from now on, as a worker of these resolved options
 * uses them; SYN_INVALID if they would change momentum that is not the optimizer's.
 *   momentum  the effective one */
enum syn_status syn_worker_place(const struct syn_worker_options *resolved, double momentum,
                                 struct syn_optimizer_options *options);

/* Compare layout, resolved options and first weights with all members of the group, servers
 * included. */
enum syn_status syn_worker_check_consistency(struct syn_group *group,
                                             const struct syn_layout *layout,
                                             const struct syn_worker_options *options,
                                             const float *weights);

/* "global", "corrected", "masked", "none". */
const char *syn_momentum_form_name(size_t i);

/* "f32", "f16". */
const char *syn_pull_values_name(size_t i);

#endif

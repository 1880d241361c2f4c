/* Options as a worker uses them. */
#ifndef SYN_WORKER_OPTIONS_H
#define SYN_WORKER_OPTIONS_H

#include <syncopate/worker.h>

/* Check all options and fill in those that follow from others.
 *   servers   number of servers in the group; SYN_SERVERS_UNKNOWN: there may be some
 *   momentum  the effective one, wherever it is applied */
#define SYN_SERVERS_UNKNOWN SIZE_MAX
enum syn_status syn_worker_resolve(struct syn_worker_options *options, size_t servers,
                                   double *momentum);

/* Adapt new optimizer settings to the form in which a worker with these resolved options uses them;
 * SYN_INVALID if they would change momentum that is not applied by the optimizer.
 *   momentum  the effective one */
enum syn_status syn_worker_place(const struct syn_worker_options *resolved, double momentum,
                                 struct syn_optimizer_options *options);

/* Compare layout, resolved options and initial weights with all members of the group, including
 * servers. */
enum syn_status syn_worker_check_consistency(struct syn_group *group,
                                             const struct syn_layout *layout,
                                             const struct syn_worker_options *options,
                                             const float *weights);

/* "global", "corrected", "masked", "none". */
const char *syn_momentum_form_name(size_t i);

/* "f32", "f16". */
const char *syn_pull_values_name(size_t i);

#endif

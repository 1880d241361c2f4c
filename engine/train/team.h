/* The workers of a run: threads of this process, or the ranks of an MPI job. */
#ifndef SYN_ENGINE_TRAIN_TEAM_H
#define SYN_ENGINE_TRAIN_TEAM_H

#include <syncopate/engine/train.h>

/* Train as this member of the group.
 *   watch    worker 0's; NULL for the others
 *   summary  written on success */
enum syn_status syn_train_member(const struct syn_train_options *options, struct syn_group *group,
                                 const struct syn_train_watch *watch,
                                 struct syn_train_summary *summary);

#endif

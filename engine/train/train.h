/* The workers of a run: threads of this process, or the ranks of an MPI job. */
#ifndef SYN_ENGINE_TRAIN_TEAM_H
#define SYN_ENGINE_TRAIN_TEAM_H

#include <syncopate/engine/train.h>

struct syn_run;

/* See that all members were given the same settings. Collective over the whole group, before
 * servers are appointed. A difference: SYN_INVALID on all, with the name and both values. */
enum syn_status syn_train_compare(const struct syn_train_options *options, struct syn_group *group);

/* Make a member of the group ready to train. Bad input is found here; the other members are
 * told. */
enum syn_status syn_train_prepare(const struct syn_train_options *options, struct syn_group *group,
                                  struct syn_run **run);

/* Train as that member, and release it, whatever happens. Collective.
 *   watch    worker 0's; NULL for the others
 *   summary  written on success */
enum syn_status syn_train_go(struct syn_run *run, const struct syn_train_watch *watch,
                             struct syn_train_summary *summary);

#endif

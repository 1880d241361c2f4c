/* Members of a group that are threads of this process. */
#ifndef SYN_ENGINE_TRAIN_CREW_H
#define SYN_ENGINE_TRAIN_CREW_H

#include <syncopate/group.h>

/* What one member does.
 *   member  its rank */
typedef void syn_crew_job(void *context, size_t member);

/* Do the job as every member at once, as member 0 on the calling thread; return when all have done
 * it. A member whose thread cannot be started leaves the group, so that the others do not wait for
 * it.
 *   groups  [count] in the order of the ranks */
void syn_crew_run(struct syn_group *const *groups, size_t count, syn_crew_job *job, void *context);

#endif

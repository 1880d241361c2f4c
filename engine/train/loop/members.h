/* Members of a group that are threads of this process. */
#ifndef SYN_ENGINE_TRAIN_MEMBERS_H
#define SYN_ENGINE_TRAIN_MEMBERS_H

#include <syncopate/group.h>

/* What one member does.
 *   member  its rank */
typedef void syn_member_work(void *context, size_t member);

/* Run the work of all members concurrently, that of member 0 on the calling thread; return when all
 * are done. A member whose thread cannot be started leaves the group, so that the others do not
 * wait for it.
 *   groups  [count] in the order of the ranks */
void syn_members_run(struct syn_group *const *groups, size_t count, syn_member_work *work,
                     void *context);

#endif

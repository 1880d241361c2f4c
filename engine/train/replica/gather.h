/* What the members of a group must agree on before a worker to train with exists, because the
 * worker's options may depend on it. */
#ifndef SYN_ENGINE_TRAIN_GATHER_H
#define SYN_ENGINE_TRAIN_GATHER_H

#include <syncopate/group.h>

/* Every worker receives every other's bytes. Collective over the workers; servers attend.
 *   mine  [count]
 *   all   [workers][count], in the order of the ranks */
enum syn_status syn_gather(struct syn_group *group, const void *mine, size_t count, void *all);

/* What a server does meanwhile. */
enum syn_status syn_gather_attend(struct syn_group *group);

#endif

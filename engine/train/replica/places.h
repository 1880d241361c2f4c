/* Where the workers of a run are, and how many threads each computes on: the cores that it may use,
 * shared with the other workers that may use them too. */
#ifndef SYN_ENGINE_TRAIN_PLACES_H
#define SYN_ENGINE_TRAIN_PLACES_H

#include <syncopate/group.h>

#include "engine/base/cores.h"

/* How a worker describes its place. */
struct syn_place {
    char machine[40]; /* the kernel that runs it: cores of the same number are the same cores */
    char host[64];    /* containers of one machine have their own names, and quotas */
    uint64_t mask[SYN_CORES_WORDS];
    double quota;   /* CPU time of its container, in cores; 0: no limit */
    uint64_t asked; /* threads set by the user; 0: one per core */
};

/* Describe this process.
 *   asked  the setting */
struct syn_place syn_place_here(uint64_t asked);

/* How many cores a place has. At least 1. */
uint64_t syn_place_cores(const struct syn_place *place);

/* How many threads worker `own` computes on. A core that several workers may use counts for each
 * only in part, so that workers bound to separate cores do not share; a quota is shared by the
 * workers of a container. At least 1. */
uint64_t syn_places_threads(const struct syn_place *all, size_t count, size_t own);

/* As a JSON array: an object for each run of consecutive ranks with the same description. Returns
 * the full length even if it does not fit, like snprintf(). */
size_t syn_places_json(const struct syn_place *all, size_t count, char *text, size_t capacity);

/* Gather the places of all workers. If they are processes, this is collective and includes servers,
 * which get nothing.
 *   all  [workers] */
enum syn_status syn_places_gather(struct syn_group *group, uint64_t asked, struct syn_place *all);

#endif

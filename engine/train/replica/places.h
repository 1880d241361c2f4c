/* Where the workers of a run are, and how many threads each computes on: the cores that it may use,
 * shared with the other workers that may use them too. */
#ifndef SYN_ENGINE_TRAIN_PLACES_H
#define SYN_ENGINE_TRAIN_PLACES_H

#include <syncopate/group.h>

#include "engine/base/cores.h"

/* What a worker says of itself. */
struct syn_place {
    char machine[40]; /* the kernel that runs it: cores of the same number are the same cores */
    char host[64];    /* containers of one machine have names of their own, and quotas */
    uint64_t mask[SYN_CORES_WORDS];
    double quota;   /* cores' time of its container; 0: no limit */
    uint64_t asked; /* threads, if the user says so; 0: as many as there are cores */
};

/* Describe this process.
 *   asked  the setting */
struct syn_place syn_place_here(uint64_t asked);

/* How many cores a place has. At least 1. */
uint64_t syn_place_cores(const struct syn_place *place);

/* How many threads worker `own` computes on. A core that several workers may use counts for each
 * only in part, so that those bound to cores of their own do not share; a quota is shared by the
 * workers of a container. At least 1. */
uint64_t syn_places_threads(const struct syn_place *all, size_t count, size_t own);

/* As a JSON array: an object for each run of neighbours that have the same. The length of the whole
 * is returned even where it does not fit, as by snprintf(). */
size_t syn_places_json(const struct syn_place *all, size_t count, char *text, size_t capacity);

/* Hear where all workers are. Where they are processes it is collective, servers included, which
 * get nothing.
 *   all  [workers] */
enum syn_status syn_places_gather(struct syn_group *group, uint64_t asked, struct syn_place *all);

#endif

/* Memory for computing steps. */
#ifndef SYN_ENGINE_TRAIN_COMPUTE_H
#define SYN_ENGINE_TRAIN_COMPUTE_H

#include "engine/train/loop/loop.h"

/* Allocate it, for a replica that is built. */
enum syn_status syn_compute_open(const struct syn_replica *replica, struct syn_compute *compute);

void syn_compute_close(struct syn_compute *compute);

#endif

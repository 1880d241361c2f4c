/* Work shared between the cores that a model may use: the same threads as oneDNN's (OpenMP's), so
 * that the two never compete for a core. */
#ifndef SYN_NN_PARALLEL_H
#define SYN_NN_PARALLEL_H

#include <stddef.h>

/* Process items [begin, end), as part number part of at most threads. */
typedef void parallel_body(void *context, size_t part, size_t begin, size_t end);

/* Split count items into at most threads parts of equal size, in order, and run them. Returns when
 * all are done. Which part an item falls into depends on count and threads only. */
void parallel_run(size_t threads, size_t count, parallel_body *body, void *context);

/* From now on oneDNN uses this many threads when called from this thread. */
void parallel_limit(size_t threads);

#endif

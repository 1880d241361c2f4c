/* Memory for arrays that kernels work on. */
#ifndef SYN_BASE_MEMORY_H
#define SYN_BASE_MEMORY_H

#include <stdbool.h>
#include <stddef.h>

#include "base/status.h"

/* A cache line, and enough for any vector load. */
#define SYN_ALIGNMENT 64

/* Zeroed, 64-byte aligned memory for count items of size bytes. A count of zero gives a valid
 * pointer. Release with free(). */
enum syn_status syn_allocate(size_t count, size_t size, void *pointer_to_result);

#endif

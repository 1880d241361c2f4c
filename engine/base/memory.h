/* Memory for arrays that kernels work on. */
#ifndef SYN_ENGINE_BASE_MEMORY_H
#define SYN_ENGINE_BASE_MEMORY_H

#include <stddef.h>

#include <syncopate/status.h>

/* Zeroed memory, aligned to 64 bytes, for count items of size bytes; a count of zero gives a valid
 * pointer. Large blocks are touched here, so that page faults happen at the start. Release with
 * free().
 *   result  the address of a pointer of any type */
enum syn_status syn_engine_allocate(size_t count, size_t size, void *result);

#endif

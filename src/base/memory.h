/* Memory for arrays that kernels work on. */
#ifndef SYN_BASE_MEMORY_H
#define SYN_BASE_MEMORY_H

#include <stdbool.h>
#include <stddef.h>

#include "base/status.h"

/* A cache line, and enough for any vector load. */
#define SYN_ALIGNMENT 64

/* Allocate zeroed, 64-byte aligned memory for count items of size bytes. A count of zero gives a
 * valid pointer. Release with free(). */
enum syn_status syn_allocate(size_t count, size_t size, void *pointer_to_result);

/* Reserve uninitialised, 64-byte aligned room for count items of size bytes: for buffers that are
 * as large as they may ever need to be and seldom full. Where the system allocates pages on first
 * touch, only what is used takes memory. Release with free(). */
enum syn_status syn_reserve(size_t count, size_t size, void *pointer_to_result);

/* Return the pages of such a buffer to the system until they are used again; the content is
 * lost. */
void syn_vacate(void *room, size_t count, size_t size);

#endif

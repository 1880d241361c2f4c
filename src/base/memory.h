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

/* Room for count items of size bytes, 64-byte aligned, of any content: for what is as large as it
 * may ever get and seldom that full. Where the system hands out pages as they are touched, only
 * what is used takes memory. Release with free(). */
enum syn_status syn_reserve(size_t count, size_t size, void *pointer_to_result);

/* Give the pages of such room back to the system until they are used again; the content is lost. */
void syn_vacate(void *room, size_t count, size_t size);

#endif

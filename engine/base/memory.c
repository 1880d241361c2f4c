/* Aligned, zeroed allocation with an overflow check. */
#include "engine/base/memory.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "engine/base/fail.h"

/* A cache line, and enough for any vector load. */
#define ALIGNMENT 64

enum syn_status syn_engine_allocate(size_t count, size_t size, void *result)
{
    if (size != 0 && count > (SIZE_MAX - ALIGNMENT) / size)
        return syn_report(SYN_MEMORY, "cannot allocate %zu items of %zu bytes", count, size);
    size_t bytes = (count * size + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT;
    if (bytes == 0)
        bytes = ALIGNMENT;
    void *block = aligned_alloc(ALIGNMENT, bytes);
    if (!block)
        return syn_report(SYN_MEMORY, "cannot allocate %zu bytes", bytes);
    memset(block, 0, bytes);
    memcpy(result, &block, sizeof block);
    return SYN_OK;
}

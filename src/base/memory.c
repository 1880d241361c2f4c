/* Aligned, zeroed allocation with an overflow check. Large blocks are touched here rather than in the
 * first step, so that page faults are paid when a worker opens. */
#include "base/memory.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

enum syn_status syn_allocate(size_t count, size_t size, void *pointer_to_result)
{
    if (size != 0 && count > (SIZE_MAX - SYN_ALIGNMENT) / size)
        return syn_fail(SYN_MEMORY, "cannot allocate %zu items of %zu bytes", count, size);
    size_t bytes = (count * size + SYN_ALIGNMENT - 1) / SYN_ALIGNMENT * SYN_ALIGNMENT;
    if (bytes == 0)
        bytes = SYN_ALIGNMENT;
    void *block = aligned_alloc(SYN_ALIGNMENT, bytes);
    if (!block)
        return syn_fail(SYN_MEMORY, "cannot allocate %zu bytes", bytes);
    memset(block, 0, bytes);
    memcpy(pointer_to_result, &block, sizeof block);
    return SYN_OK;
}

/* Aligned, zeroed allocation with an overflow check. Large blocks are aligned to large pages and
 * request them where the system has them: a step walks several arrays at once, and with small pages
 * address translation would take a fifth of its time. Blocks are touched here rather than in the
 * first step, so that page faults occur when a worker opens. */
#include "base/memory.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#define LARGE_PAGE ((size_t)2 << 20)
#define PAGE       ((size_t)1 << 16) /* a multiple of every common page size */
#define VACATED    (4 * PAGE)        /* smallest buffer worth giving back */

static size_t round_up(size_t bytes, size_t unit)
{
    return (bytes + unit - 1) / unit * unit;
}

static enum syn_status check_size(size_t count, size_t size)
{
    if (size != 0 && count > (SIZE_MAX - LARGE_PAGE) / size)
        return syn_fail(SYN_MEMORY, "cannot allocate %zu items of %zu bytes", count, size);
    return SYN_OK;
}

enum syn_status syn_allocate(size_t count, size_t size, void *pointer_to_result)
{
    SYN_TRY(check_size(count, size));
    bool is_large = count * size >= 2 * LARGE_PAGE;
    size_t alignment = is_large ? LARGE_PAGE : SYN_ALIGNMENT;
    size_t bytes = round_up(count * size + (count * size == 0), alignment);
    void *block = aligned_alloc(alignment, bytes);
    if (!block)
        return syn_fail(SYN_MEMORY, "cannot allocate %zu bytes", bytes);
#ifdef MADV_HUGEPAGE
    if (is_large)
        (void)madvise(block, bytes, MADV_HUGEPAGE); /* only a hint: failure is harmless */
#endif
    memset(block, 0, bytes);
    memcpy(pointer_to_result, &block, sizeof block);
    return SYN_OK;
}

enum syn_status syn_reserve(size_t count, size_t size, void *pointer_to_result)
{
    SYN_TRY(check_size(count, size));
    size_t alignment = count * size >= VACATED ? PAGE : SYN_ALIGNMENT;
    size_t bytes = round_up(count * size + (count * size == 0), alignment);
    void *block = aligned_alloc(alignment, bytes);
    if (!block)
        return syn_fail(SYN_MEMORY, "cannot allocate %zu bytes", bytes);
    memcpy(pointer_to_result, &block, sizeof block);
    return SYN_OK;
}

void syn_vacate(void *room, size_t count, size_t size)
{
#ifdef MADV_DONTNEED
    if (count * size >= VACATED && (uintptr_t)room % PAGE == 0)
        (void)madvise(room, count * size / PAGE * PAGE, MADV_DONTNEED);
#else
    (void)room;
    (void)count;
    (void)size;
#endif
}

/* The reducer's state as a section of an archive. Without a residual there is nothing in it to
 * restore, and archives of shards written by earlier versions lack it. */
#include <stdlib.h>
#include <string.h>

#include "base/archive.h"
#include "reducer/inside.h"

#define SECTION "store/reducer"

enum syn_status syn_reducer_archive(const struct syn_reducer *reducer, struct syn_archive *archive)
{
    size_t count = syn_reducer_state_bytes(reducer);
    void *bytes = malloc(count);
    if (!bytes)
        return syn_fail(SYN_MEMORY, "cannot allocate %zu bytes of reducer state", count);
    enum syn_status status = syn_reducer_save(reducer, bytes);
    if (status == SYN_OK)
        status = syn_archive_add(archive, SECTION, bytes, count);
    free(bytes);
    return status;
}

static bool may_skip(const struct syn_reducer *reducer, const struct syn_archive *archive)
{
    struct syn_section section = syn_archive_section(archive, 0);
    for (size_t i = 1; section.name && strcmp(section.name, SECTION) != 0; i++)
        section = syn_archive_section(archive, i);
    return !section.name && !reducer->residual_type->has_unsent;
}

enum syn_status syn_reducer_unarchive(struct syn_reducer *reducer,
                                      const struct syn_archive *archive)
{
    struct syn_section section = {0};
    if (may_skip(reducer, archive))
        return SYN_OK;
    SYN_TRY(syn_archive_find(archive, SECTION, &section));
    return syn_reducer_load(reducer, section.bytes, section.count);
}

enum syn_status syn_reducer_unarchive_regrouped(struct syn_reducer *reducer,
                                                const struct syn_archive *const *archives,
                                                size_t count)
{
    if (count == 0)
        return syn_fail(SYN_INVALID, "no archives to regroup; expected at least one");
    if (may_skip(reducer, archives[0]))
        return SYN_OK;
    const void **states = calloc(count, sizeof *states);
    size_t *counts = calloc(count, sizeof *counts);
    enum syn_status status =
        states && counts ? SYN_OK : syn_fail(SYN_MEMORY, "cannot allocate %zu states", count);
    for (size_t i = 0; i < count && status == SYN_OK; i++) {
        struct syn_section section = {0};
        status = syn_archive_find(archives[i], SECTION, &section);
        states[i] = section.bytes;
        counts[i] = section.count;
    }
    if (status == SYN_OK)
        status = syn_reducer_load_regrouped(reducer, states, counts, count);
    free(states);
    free(counts);
    return status;
}

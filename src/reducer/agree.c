/* Before the first step, workers tell each other what they were opened with, as text of a line for
 * each setting: what differs can then be named, not only noticed. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/memory.h"
#include "reducer/inside.h"

#define TEXT_BYTES 4096
#define VERSION    1

/* Settings that each worker may choose for itself. */
static bool is_private(const char *name)
{
    return strcmp(name, "select_threads") == 0;
}

static void describe(const struct syn_reducer *reducer, char *text)
{
    const struct syn_settings_table *table = &syn_reducer_settings;
    int length = snprintf(text, TEXT_BYTES,
                          "version %d\nparameters %zu\ntensors %zu\nlayout %016" PRIx64 "\n",
                          VERSION, reducer->size, syn_layout_count(reducer->layout),
                          syn_layout_hash(reducer->layout));
    for (size_t i = 0; i < table->count && length < TEXT_BYTES; i++) {
        char value[SYN_TEXT_BYTES];
        if (is_private(table->rows[i].name))
            continue;
        syn_settings_value(&table->rows[i], &reducer->options, value, sizeof value);
        length += snprintf(text + length, (size_t)(TEXT_BYTES - length), "%s %s\n",
                           table->rows[i].name, value);
    }
}

/* Length of the line at text, at most what is left. */
static int line_length(const char *text, size_t left)
{
    const char *end = memchr(text, '\n', left);
    return (int)(end ? (size_t)(end - text) : strnlen(text, left));
}

static enum syn_status compare(const char *own, const char *other, size_t rank, size_t peer)
{
    if (memcmp(own, other, TEXT_BYTES) == 0)
        return SYN_OK;
    size_t at = 0;
    while (own[at] == other[at])
        at++;
    while (at > 0 && own[at - 1] != '\n')
        at--;
    return syn_fail(SYN_MISMATCH, "worker %zu was opened with \"%.*s\", worker %zu with \"%.*s\"",
                    rank, line_length(own + at, TEXT_BYTES - at), own + at, peer,
                    line_length(other + at, TEXT_BYTES - at), other + at);
}

static enum syn_status swap_texts(struct syn_group *group, const char *own, char *others,
                                  struct syn_request *requests)
{
    enum syn_status status = SYN_OK;
    for (size_t i = 1; i < group->workers && status == SYN_OK; i++) {
        size_t from = (group->rank + group->workers - i) % group->workers;
        size_t to = (group->rank + i) % group->workers;
        status = syn_group_receive(group, from, others + from * TEXT_BYTES, TEXT_BYTES,
                                   &requests[2 * from]);
        if (status == SYN_OK)
            status = syn_group_send(group, to, own, TEXT_BYTES, &requests[2 * to + 1]);
    }
    if (status != SYN_OK)
        syn_group_abandon(group, status, syn_error_text());
    return syn_group_wait(group, requests, 2 * group->workers);
}

enum syn_status syn_reducer_agree(const struct syn_reducer *reducer)
{
    struct syn_group *group = reducer->group;
    char own[TEXT_BYTES] = {0};
    char *others = NULL;
    struct syn_request *requests = NULL;
    describe(reducer, own);
    enum syn_status status = syn_allocate(group->workers, TEXT_BYTES, &others);
    if (status == SYN_OK)
        status = syn_allocate(2 * group->workers, sizeof *requests, &requests);
    if (status == SYN_OK)
        status = swap_texts(group, own, others, requests);
    for (size_t peer = 0; peer < group->workers && status == SYN_OK; peer++)
        if (peer != group->rank)
            status = compare(own, others + peer * TEXT_BYTES, group->rank, peer);
    free(requests);
    free(others);
    return status;
}

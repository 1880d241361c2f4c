/* Texts swapped by all, each with each; once, at open. */
#include "exchange/accord.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"

#define VERSION 1

void syn_accord_add(struct syn_accord *accord, const char *format, ...)
{
    va_list arguments;
    size_t room = sizeof accord->text - accord->length;
    va_start(arguments, format);
    int length = vsnprintf(accord->text + accord->length, room, format, arguments);
    va_end(arguments);
    accord->length += length < 0 ? 0 : (size_t)length;
    if (accord->length >= sizeof accord->text)
        accord->length = sizeof accord->text - 1;
}

void syn_accord_begin(struct syn_accord *accord, const struct syn_layout *layout)
{
    memset(accord, 0, sizeof *accord);
    syn_accord_add(accord, "version %d\nparameters %zu\ntensors %zu\nlayout %016" PRIx64 "\n",
                   VERSION, syn_layout_size(layout), syn_layout_count(layout),
                   syn_layout_hash(layout));
}

static bool is_private(const char *name)
{
    return strcmp(name, "select_threads") == 0;
}

void syn_accord_add_settings(struct syn_accord *accord, const struct syn_settings_table *table,
                             const void *options)
{
    for (size_t i = 0; i < table->count; i++) {
        char value[SYN_TEXT_BYTES];
        if (is_private(table->rows[i].name))
            continue;
        syn_settings_value(&table->rows[i], options, value, sizeof value);
        syn_accord_add(accord, "%s %s\n", table->rows[i].name, value);
    }
}

/* Length of the line at text, at most what is left. */
static int line_length(const char *text, size_t left)
{
    const char *end = memchr(text, '\n', left);
    return (int)(end ? (size_t)(end - text) : strnlen(text, left));
}

static enum syn_status compare(const struct syn_group *group, const char *own, const char *other,
                               size_t peer)
{
    if (memcmp(own, other, SYN_ACCORD_BYTES) == 0)
        return SYN_OK;
    size_t at = 0;
    while (own[at] == other[at])
        at++;
    while (at > 0 && own[at - 1] != '\n')
        at--;
    return syn_fail(SYN_MISMATCH, "%s was opened with \"%.*s\", %s with \"%.*s\"",
                    syn_group_name(group, group->rank).text,
                    line_length(own + at, SYN_ACCORD_BYTES - at), own + at,
                    syn_group_name(group, peer).text,
                    line_length(other + at, SYN_ACCORD_BYTES - at), other + at);
}

static enum syn_status swap_texts(struct syn_group *group, size_t members, const char *own,
                                  char *others, struct syn_request *requests)
{
    enum syn_status status = SYN_OK;
    for (size_t i = 1; i < members && status == SYN_OK; i++) {
        size_t from = (group->rank + members - i) % members;
        size_t to = (group->rank + i) % members;
        status = syn_group_receive(group, from, others + from * SYN_ACCORD_BYTES, SYN_ACCORD_BYTES,
                                   &requests[2 * from]);
        if (status == SYN_OK)
            status = syn_group_send(group, to, own, SYN_ACCORD_BYTES, &requests[2 * to + 1]);
    }
    if (status != SYN_OK)
        syn_group_abandon(group, status, syn_error_text());
    return syn_group_wait(group, requests, 2 * members);
}

enum syn_status syn_accord_reach(const struct syn_accord *accord, struct syn_group *group,
                                 size_t members)
{
    char *others = NULL;
    struct syn_request *requests = NULL;
    enum syn_status status = syn_allocate(members, SYN_ACCORD_BYTES, &others);
    if (status == SYN_OK)
        status = syn_allocate(2 * members, sizeof *requests, &requests);
    if (status == SYN_OK)
        status = swap_texts(group, members, accord->text, others, requests);
    for (size_t peer = 0; peer < members && status == SYN_OK; peer++)
        if (peer != group->rank)
            status = compare(group, accord->text, others + peer * SYN_ACCORD_BYTES, peer);
    free(requests);
    free(others);
    return status;
}

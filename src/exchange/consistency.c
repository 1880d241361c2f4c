/* All members exchange their texts pairwise, once, at open. Each compares all texts with worker
 * 0's, so that all reach the same conclusion and report the same cause. */
#include "exchange/consistency.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <syncopate/text.h>
#include <syncopate/version.h>

#include "base/hash.h"
#include "base/memory.h"

#define PROTOCOL 2

/* Reserved for the hash of what does not fit. */
#define REST_BYTES 32

static void add(struct syn_consistency *own, const char *text, size_t length)
{
    bool fits = own->rest == 0 && length < sizeof own->text - REST_BYTES - own->length;
    if (!fits) {
        own->rest = syn_hash(own->rest, text, length);
        return;
    }
    memcpy(own->text + own->length, text, length);
    own->length += length;
}

void syn_consistency_add(struct syn_consistency *own, const char *format, ...)
{
    char line[1024];
    va_list arguments;
    va_start(arguments, format);
    int length = syn_text_print_list(line, sizeof line, format, arguments);
    va_end(arguments);
    if (length > 0)
        add(own, line, (size_t)length < sizeof line ? (size_t)length : sizeof line - 1);
}

void syn_consistency_add_lines(struct syn_consistency *own, const char *lines)
{
    while (*lines) {
        size_t length = strcspn(lines, "\n");
        length += lines[length] == '\n';
        add(own, lines, length);
        lines += length;
    }
}

void syn_consistency_begin(struct syn_consistency *own)
{
    memset(own, 0, sizeof *own);
    syn_consistency_add(own, "version %s (protocol %d)\n", syn_version(), PROTOCOL);
}

void syn_consistency_add_layout(struct syn_consistency *own, const struct syn_layout *layout)
{
    syn_consistency_add(own, "parameters %zu\ntensors %zu\nlayout %016" PRIx64 "\n",
                        syn_layout_size(layout), syn_layout_count(layout), syn_layout_hash(layout));
}

void syn_consistency_add_settings(struct syn_consistency *own,
                                  const struct syn_settings_table *table, const void *options)
{
    char lines[SYN_CONSISTENCY_BYTES];
    syn_settings_lines(table, options, lines, sizeof lines);
    syn_consistency_add_lines(own, lines);
}

/* Each member sends its own part of `all` and receives the others'.
 *   all    [members][SYN_CONSISTENCY_BYTES]
 *   bytes  of this member's own */
static enum syn_status swap_texts(struct syn_group *group, size_t members, char *all, size_t bytes,
                                  struct syn_request *requests)
{
    enum syn_status status = SYN_OK;
    for (size_t i = 1; i < members && status == SYN_OK; i++) {
        size_t from = (group->rank + members - i) % members;
        size_t to = (group->rank + i) % members;
        status = syn_group_receive(group, from, all + from * SYN_CONSISTENCY_BYTES,
                                   SYN_CONSISTENCY_BYTES - 1, &requests[2 * from]);
        if (status == SYN_OK)
            status = syn_group_send(group, to, all + group->rank * SYN_CONSISTENCY_BYTES, bytes,
                                    &requests[2 * to + 1]);
    }
    if (status != SYN_OK)
        syn_group_abandon(group, status, syn_error_text());
    return syn_group_wait(group, requests, 2 * members);
}

/* One line of a text. */
struct line {
    int name_length;
    int value_length;
    const char *name;
    const char *value;
};

static struct line line_at(const char *text)
{
    int length = (int)strcspn(text, "\n");
    int name = (int)strcspn(text, " \n");
    int gap = name < length;
    return (struct line){name, length - name - gap, text, text + name + gap};
}

/* Number of members whose text differs from worker 0's. */
static size_t count_odd(const char *all, size_t members)
{
    size_t odd = 0;
    for (size_t m = 1; m < members; m++)
        odd += strcmp(all, all + m * SYN_CONSISTENCY_BYTES) != 0;
    return odd;
}

/* Report the first member whose text differs from worker 0's, and the first line that differs. */
static enum syn_status complain(const struct syn_group *group, const char *all, size_t members)
{
    size_t odd = 1;
    char others[96] = "";
    size_t count = count_odd(all, members);
    while (strcmp(all, all + odd * SYN_CONSISTENCY_BYTES) == 0)
        odd++;
    const char *first = all;
    const char *other = all + odd * SYN_CONSISTENCY_BYTES;
    size_t at = 0;
    while (first[at] == other[at])
        at++;
    while (at > 0 && first[at - 1] != '\n')
        at--;
    struct line mine = line_at(first + at);
    struct line its = line_at(other + at);
    if (count > 1)
        snprintf(others, sizeof others, " (%zu of %zu members differ from worker 0)", count,
                 members);
    if (mine.name_length != its.name_length ||
        strncmp(mine.name, its.name, (size_t)mine.name_length) != 0)
        return syn_fail(SYN_MISMATCH,
                        "%s and worker 0 do not have the same settings: it has \"%.*s\" where "
                        "worker 0 has \"%.*s\"; they run different versions%s",
                        syn_group_name(group, odd).text, its.name_length, its.name,
                        mine.name_length, mine.name, others);
    return syn_fail(SYN_MISMATCH,
                    "%.*s is \"%.*s\" on worker 0, but \"%.*s\" on %s; expected the same on "
                    "all%s",
                    mine.name_length, mine.name, mine.value_length, mine.value, its.value_length,
                    its.value, syn_group_name(group, odd).text, others);
}

/* All members have all texts and so reach the same conclusion; no message is needed. */
static enum syn_status compare(struct syn_group *group, size_t members, const char *all)
{
    if (count_odd(all, members) == 0)
        return SYN_OK;
    enum syn_status status = complain(group, all, members);
    syn_group_break(group, status, syn_error_text());
    return status;
}

enum syn_status syn_consistency_check(struct syn_consistency *own, struct syn_group *group,
                                      size_t members)
{
    char *all = NULL;
    struct syn_request *requests = NULL;
    if (own->rest)
        own->length += (size_t)snprintf(own->text + own->length, REST_BYTES,
                                        "rest %016" PRIx64 "\n", own->rest);
    enum syn_status status = syn_allocate(members, SYN_CONSISTENCY_BYTES, &all);
    if (status == SYN_OK)
        status = syn_allocate(2 * members, sizeof *requests, &requests);
    if (status == SYN_OK) {
        memcpy(all + group->rank * SYN_CONSISTENCY_BYTES, own->text, own->length);
        status = swap_texts(group, members, all, own->length, requests);
    }
    if (status == SYN_OK)
        status = compare(group, members, all);
    free(requests);
    free(all);
    return status;
}

enum syn_status syn_group_compare(struct syn_group *group, const char *lines)
{
    struct syn_consistency own;
    syn_consistency_begin(&own);
    syn_consistency_add_lines(&own, lines);
    return syn_consistency_check(&own, group, group->size);
}

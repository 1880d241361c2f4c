/* Growing by doubling. */
#include "text.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <syncopate/report.h>

/* Room for count more bytes and a NUL. */
static bool make_room(struct text *text, size_t count)
{
    size_t needed = text->length + count + 1;
    size_t capacity = text->capacity > 0 ? text->capacity : 256;
    if (needed <= text->capacity)
        return true;
    while (capacity < needed)
        capacity *= 2;
    char *bytes = realloc(text->bytes, capacity);
    if (!bytes) {
        text->is_short = true;
        return false;
    }
    text->bytes = bytes;
    text->capacity = capacity;
    return true;
}

void text_add(struct text *text, const char *bytes, size_t count)
{
    if (!make_room(text, count))
        return;
    memcpy(text->bytes + text->length, bytes, count);
    text->length += count;
    text->bytes[text->length] = '\0';
}

void text_put(struct text *text, const char *words)
{
    text_add(text, words, strlen(words));
}

void text_add_json(struct text *text, const char *bytes, size_t count)
{
    const char *end = bytes + count;
    while (bytes < end) {
        const char *open = memchr(bytes, '<', (size_t)(end - bytes));
        text_add(text, bytes, (size_t)((open ? open : end) - bytes));
        if (!open)
            return;
        text_put(text, "\\u003c");
        bytes = open + 1;
    }
}

void text_add_quoted(struct text *text, const char *words)
{
    text_put(text, "\"");
    for (const char *c = words; *c; c++) {
        char escape[8];
        bool is_plain = (unsigned char)*c >= 0x20 && *c != '"' && *c != '\\' && *c != '<';
        snprintf(escape, sizeof escape, is_plain ? "%c" : "\\u%04x", (unsigned char)*c);
        text_put(text, escape);
    }
    text_put(text, "\"");
}

enum syn_status text_check(const struct text *text)
{
    if (text->is_short)
        return syn_report(SYN_MEMORY, "cannot allocate %zu bytes for a page", 2 * text->capacity);
    return SYN_OK;
}

void text_free(struct text *text)
{
    free(text->bytes);
    *text = (struct text){0};
}

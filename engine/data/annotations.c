/* Columns are separated by blanks or tabs, as in the tables that come with data sets. */
#include "engine/data/annotations.h"

#include <string.h>

#include "engine/base/fail.h"

static bool is_blank(uint8_t byte)
{
    return byte == ' ' || byte == '\t' || byte == '\r';
}

/* The next column of a line; false if it is empty, does not fit or contains a NUL. */
static bool read_column(const uint8_t **at, const uint8_t *end, char *text, size_t room)
{
    while (*at < end && is_blank(**at))
        (*at)++;
    size_t length = 0;
    while (*at < end && !is_blank(**at) && **at != '\0' && length + 1 < room)
        text[length++] = (char)*(*at)++;
    text[length] = '\0';
    return length > 0 && (*at == end || is_blank(**at));
}

static bool is_empty(const uint8_t *at, const uint8_t *end)
{
    while (at < end && is_blank(*at))
        at++;
    return at == end;
}

static enum syn_status read_row(const struct syn_annotations *annotations, const uint8_t *at,
                                const uint8_t *end, struct syn_annotation *row)
{
    if (!read_column(&at, end, row->file, sizeof row->file) ||
        !read_column(&at, end, row->class, sizeof row->class))
        return syn_report(SYN_FORMAT, "%s:%zu: expected the name of a picture and its class",
                          annotations->name, annotations->line);
    if (row->file[0] == '.' || strchr(row->file, '/'))
        return syn_report(SYN_FORMAT, "%s:%zu: \"%s\"; expected the name of a picture, not a path",
                          annotations->name, annotations->line, row->file);
    return SYN_OK;
}

enum syn_status syn_annotations_next(struct syn_annotations *annotations,
                                     struct syn_annotation *row, bool *is_there)
{
    while (annotations->at < annotations->end) {
        const uint8_t *begin = annotations->at;
        const uint8_t *end = memchr(begin, '\n', (size_t)(annotations->end - begin));
        annotations->at = end ? end + 1 : annotations->end;
        annotations->line++;
        *is_there = true;
        if (!is_empty(begin, end ? end : annotations->end))
            return read_row(annotations, begin, end ? end : annotations->end, row);
    }
    *is_there = false;
    return SYN_OK;
}

/* Reading JSON where it lies. A text is checked once, against all of the grammar; then values are
 * spans of it, walked without copies. Nothing is decoded: whoever needs a number or a string has
 * the span. */
#ifndef SYN_APP_REPORT_JSON_H
#define SYN_APP_REPORT_JSON_H

#include <stdbool.h>
#include <stddef.h>

/* Containers inside containers; deeper ones are refused. */
#define JSON_MOST_DEPTH 32

/* Bytes from at to before end, lent. */
struct json {
    const char *at;
    const char *end;
};

enum json_kind { JSON_OBJECT, JSON_ARRAY, JSON_STRING, JSON_NUMBER, JSON_WORD };

/* Whether the text is one value, with white space around it at most. If so, *value is it. */
bool json_read(const char *text, size_t length, struct json *value);

/* What a value of json_read() is. JSON_WORD: true, false or null. */
enum json_kind json_kind(struct json value);

/* Take the next member of an object, or the next element of an array, off a container of
 * json_read().
 *   rest  the container at first; what is left of it afterwards
 *   name  the member's name with its quotes; empty in an array
 * False past the last. */
bool json_next(struct json *rest, struct json *name, struct json *value);

/* The member of that name, which needs no escapes; false if value is no object or has none. */
bool json_find(struct json value, const char *name, struct json *found);

/* Whether a value is the string of these words, which need no escapes. */
bool json_is(struct json value, const char *words);

#endif

/* A growing text buffer. Running out of memory is recorded and checked once, at the end. */
#ifndef SYN_APP_REPORT_TEXT_H
#define SYN_APP_REPORT_TEXT_H

#include <stdbool.h>
#include <stddef.h>

#include <syncopate/status.h>

/* Zero it before use. */
struct text {
    char *bytes; /* [length] and a terminating NUL; NULL until something is added */
    size_t length;
    size_t capacity;
    bool is_short; /* of memory: something is missing */
};

void text_add(struct text *text, const char *bytes, size_t count);
void text_put(struct text *text, const char *words);

/* Add words as a JSON string that is safe inside a script element. */
void text_add_quoted(struct text *text, const char *words);

/* Add valid JSON in a form that is safe inside a script element: "<" can occur only in its strings
 * and is escaped there, so that no value can close the element. */
void text_add_json(struct text *text, const char *bytes, size_t count);

/* SYN_MEMORY if something is missing. */
enum syn_status text_check(const struct text *text);

/* Release it, and zero it again. */
void text_free(struct text *text);

#endif

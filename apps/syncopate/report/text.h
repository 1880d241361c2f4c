/* Text that grows. Running out of memory is remembered, and asked about once, at the end. */
#ifndef SYN_APP_REPORT_TEXT_H
#define SYN_APP_REPORT_TEXT_H

#include <stdbool.h>
#include <stddef.h>

#include <syncopate/status.h>

/* Zeroed to begin. */
struct text {
    char *bytes; /* [length], and a NUL after them; NULL while nothing was added */
    size_t length;
    size_t capacity;
    bool is_short; /* of memory: something is missing */
};

void text_add(struct text *text, const char *bytes, size_t count);
void text_put(struct text *text, const char *words);

/* Add words as a JSON string that may stand inside a script element. */
void text_add_quoted(struct text *text, const char *words);

/* Add good JSON so that it may stand inside a script element: "<" can only be in its strings, and
 * is written there as an escape, so that no value can end the element. */
void text_add_json(struct text *text, const char *bytes, size_t count);

/* SYN_MEMORY if something is missing. */
enum syn_status text_check(const struct text *text);

/* Release it, and zero it again. */
void text_free(struct text *text);

#endif

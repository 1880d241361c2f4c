/* Writing JSON objects, one field at a time. */
#ifndef SYN_ENGINE_BASE_JSON_H
#define SYN_ENGINE_BASE_JSON_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* An object that is written into the caller's buffer and counts what did not fit, as snprintf
 * does. */
struct syn_json {
    char *text;
    size_t capacity;
    size_t length; /* so far, without the final NUL */
    bool has_fields;
};

/* Open an object. text may be NULL if capacity is 0. */
struct syn_json syn_json_begin(char *text, size_t capacity);

/* Add one field. Names are plain words and are not escaped; a number that is not finite becomes
 * null. */
void syn_json_real(struct syn_json *json, const char *name, double value);
void syn_json_count(struct syn_json *json, const char *name, uint64_t value);
void syn_json_flag(struct syn_json *json, const char *name, bool value);
void syn_json_text(struct syn_json *json, const char *name, const char *value);

/* Add one field whose value is already JSON. */
void syn_json_value(struct syn_json *json, const char *name, const char *value);

/* Add all the fields of another object, given as text in braces. */
void syn_json_fields(struct syn_json *json, const char *object);

/* Close the object; returns its length. */
size_t syn_json_end(struct syn_json *json);

#endif

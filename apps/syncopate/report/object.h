/* JSON objects from untrusted bytes. */
#ifndef SYN_APP_REPORT_OBJECT_H
#define SYN_APP_REPORT_OBJECT_H

#include <jansson.h>
#include <stddef.h>

/* Parse these bytes as one JSON object, with nothing but white space around it; NULL if they are
 * not one. Numbers are read as doubles, so that a count above 2^63 is not refused.
 *   why  may be NULL; set if NULL is returned
 * Release it with json_decref(). */
json_t *object_read(const char *bytes, size_t count, json_error_t *why);

#endif

/* Jansson also accepts an array, which is refused here; the rest is left to it. */
#include "object.h"

#include <stdio.h>

json_t *object_read(const char *bytes, size_t count, json_error_t *why)
{
    json_t *found = json_loadb(bytes, count, JSON_DECODE_INT_AS_REAL | JSON_ALLOW_NUL, why);
    if (!found || json_is_object(found))
        return found;
    json_decref(found);
    if (why) {
        snprintf(why->text, sizeof why->text, "it is an array");
        why->line = 1;
    }
    return NULL;
}

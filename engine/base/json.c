/* Writing JSON objects into a buffer: the length is computed even if the buffer is too small, so
 * that callers can measure first and then allocate, or pass a buffer that is certainly large
 * enough. */
#include "engine/base/json.h"

#include <math.h>
#include <stdarg.h>
#include <string.h>

#include <syncopate/text.h>

static void put(struct syn_json *json, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

static void put(struct syn_json *json, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    size_t room = json->length < json->capacity ? json->capacity - json->length : 0;
    int wrote =
        syn_text_print_list(room ? json->text + json->length : NULL, room, format, arguments);
    va_end(arguments);
    if (wrote > 0)
        json->length += (size_t)wrote;
}

static void separate(struct syn_json *json)
{
    put(json, "%s", json->has_fields ? ", " : "");
    json->has_fields = true;
}

static void begin_field(struct syn_json *json, const char *name)
{
    separate(json);
    put(json, "\"%s\": ", name);
}

struct syn_json syn_json_begin(char *text, size_t capacity)
{
    struct syn_json json = {.text = text, .capacity = capacity};
    put(&json, "{");
    return json;
}

void syn_json_real(struct syn_json *json, const char *name, double value)
{
    begin_field(json, name);
    if (isfinite(value))
        put(json, "%.9g", value);
    else
        put(json, "null");
}

void syn_json_count(struct syn_json *json, const char *name, uint64_t value)
{
    begin_field(json, name);
    put(json, "%llu", (unsigned long long)value);
}

void syn_json_flag(struct syn_json *json, const char *name, bool value)
{
    begin_field(json, name);
    put(json, "%s", value ? "true" : "false");
}

void syn_json_text(struct syn_json *json, const char *name, const char *value)
{
    begin_field(json, name);
    put(json, "\"");
    for (const char *c = value; *c; c++) {
        if (*c == '"' || *c == '\\')
            put(json, "\\%c", *c);
        else if ((unsigned char)*c < 0x20)
            put(json, "\\u%04x", (unsigned)(unsigned char)*c);
        else
            put(json, "%c", *c);
    }
    put(json, "\"");
}

void syn_json_value(struct syn_json *json, const char *name, const char *value)
{
    begin_field(json, name);
    put(json, "%s", value);
}

void syn_json_fields(struct syn_json *json, const char *object)
{
    size_t length = strlen(object);
    if (length <= 2)
        return;
    separate(json);
    put(json, "%.*s", (int)(length - 2), object + 1);
}

size_t syn_json_end(struct syn_json *json)
{
    put(json, "}");
    return json->length;
}

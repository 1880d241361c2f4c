/* The page cannot report errors, so its input is checked here, member by member. */
#include "simulation.h"

#include <stdbool.h>
#include <stddef.h>
#include <string.h>

#include <syncopate/report.h>

typedef bool good(const json_t *value);

/* Whether every element of an array is good; an empty array is not. */
static bool every(const json_t *array, good *is_good)
{
    size_t count = json_array_size(array); /* 0 if it is not an array */
    for (size_t i = 0; i < count; i++)
        if (!is_good(json_array_get(array, i)))
            return false;
    return count > 0;
}

static bool has_text(const json_t *object, const char *name)
{
    return json_is_string(json_object_get(object, name));
}

/* [x, y], x above 0, as its axis is logarithmic. */
static bool is_point(const json_t *value)
{
    const json_t *x = json_array_get(value, 0);
    return json_array_size(value) == 2 && json_is_number(x) && json_number_value(x) > 0 &&
           json_is_number(json_array_get(value, 1));
}

static bool is_series(const json_t *value)
{
    return has_text(value, "name") && every(json_object_get(value, "points"), is_point);
}

static bool is_chart(const json_t *value)
{
    return has_text(value, "label") && every(json_object_get(value, "series"), is_series);
}

enum syn_status simulation_check(const char *path, const json_t *object)
{
    const char *kind = json_string_value(json_object_get(object, "kind"));
    if (!kind || strcmp(kind, "simulation") != 0)
        return syn_report(SYN_INVALID, "%s: \"kind\" is not \"simulation\"", path);
    if (!has_text(object, "title"))
        return syn_report(SYN_INVALID, "%s: expected a string \"title\"", path);
    if (!has_text(json_object_get(object, "x"), "label"))
        return syn_report(SYN_INVALID, "%s: expected \"x\": {\"label\": ...}", path);
    if (!every(json_object_get(object, "charts"), is_chart))
        return syn_report(SYN_INVALID,
                          "%s: expected \"charts\": [{\"label\": ..., \"series\": [{\"name\": ..., "
                          "\"points\": [[x, y], ...]}, ...]}, ...], x above 0",
                          path);
    return SYN_OK;
}

/* A page has no one to complain to, so what it will draw is checked here, member by member. */
#include "simulation.h"

#include <stdbool.h>
#include <stddef.h>

#include <syncopate/report.h>

/* Whether every element of an array is good; none at all is not. */
static bool every(struct json value, bool is_good(struct json element))
{
    struct json name;
    struct json element;
    size_t count = 0;
    if (json_kind(value) != JSON_ARRAY)
        return false;
    for (; json_next(&value, &name, &element); count++)
        if (!is_good(element))
            return false;
    return count > 0;
}

static bool has(struct json object, const char *name, enum json_kind kind)
{
    struct json value;
    return json_find(object, name, &value) && json_kind(value) == kind;
}

static bool has_every(struct json object, const char *name, bool is_good(struct json element))
{
    struct json value;
    return json_find(object, name, &value) && every(value, is_good);
}

static bool is_number(struct json value)
{
    return json_kind(value) == JSON_NUMBER;
}

/* [x, y], x above 0: it is drawn on a logarithmic axis. */
static bool is_point(struct json value)
{
    struct json name;
    struct json part;
    struct json rest = value;
    if (!every(value, is_number) || !json_next(&rest, &name, &part))
        return false;
    for (const char *c = part.at; c < part.end && *c != 'e' && *c != 'E'; c++)
        if (*c >= '1' && *c <= '9' && *part.at != '-')
            return json_next(&rest, &name, &part) && !json_next(&rest, &name, &part);
    return false;
}

static bool is_series(struct json value)
{
    return has(value, "name", JSON_STRING) && has_every(value, "points", is_point);
}

static bool is_chart(struct json value)
{
    return has(value, "label", JSON_STRING) && has_every(value, "series", is_series);
}

enum syn_status simulation_check(const char *path, struct json object)
{
    struct json value;
    if (!json_find(object, "kind", &value) || !json_is(value, "simulation"))
        return syn_report(SYN_INVALID, "%s: \"kind\" is not \"simulation\"", path);
    if (!has(object, "title", JSON_STRING))
        return syn_report(SYN_INVALID, "%s: expected a string \"title\"", path);
    if (!json_find(object, "x", &value) || !has(value, "label", JSON_STRING))
        return syn_report(SYN_INVALID, "%s: expected \"x\": {\"label\": ...}", path);
    if (!has_every(object, "charts", is_chart))
        return syn_report(SYN_INVALID,
                          "%s: expected \"charts\": [{\"label\": ..., \"series\": [{\"name\": ..., "
                          "\"points\": [[x, y], ...]}, ...]}, ...], x above 0",
                          path);
    return SYN_OK;
}

/* Settings, summary and lines are checked and then copied unchanged: the page reads exactly the
 * digits that the run wrote. An incomplete line is where a killed run ended; nothing after it is
 * trusted. */
#include "run.h"

#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <syncopate/report.h>

#include "file.h"
#include "object.h"
#include "simulation.h"

#define MOST_OBJECT  ((size_t)1 << 20)
#define MOST_METRICS ((size_t)64 << 20)
#define MOST_FIGURES ((size_t)16 << 20)

static enum syn_status join(const char *folder, const char *name, char path[PATH_MAX])
{
    if (snprintf(path, PATH_MAX, "%s/%s", folder, name) >= PATH_MAX)
        return syn_report(SYN_INVALID, "%.64s...: path too long", folder);
    return SYN_OK;
}

/* Read an object. Anything else is refused, with the line of the error. */
static enum syn_status read_object(const struct text *bytes, const char *path, const char *what,
                                   json_t **object)
{
    json_error_t why;
    *object = object_read(bytes->bytes, bytes->length, &why);
    if (*object)
        return SYN_OK;
    return syn_report(SYN_INVALID, "%s is %s: %s (line %d)", path, what, why.text, why.line);
}

/* Add the object that makes up a whole file. */
static enum syn_status add_object(const char *path, struct text *text)
{
    struct text bytes = {0};
    json_t *object = NULL;
    enum syn_status status = file_read(path, MOST_OBJECT, &bytes);
    if (status == SYN_OK)
        status = read_object(&bytes, path, "not a JSON object", &object);
    if (status == SYN_OK)
        text_add_json(text, bytes.bytes, bytes.length);
    json_decref(object);
    text_free(&bytes);
    return status;
}

static bool is_object(const char *bytes, size_t count)
{
    json_t *object = object_read(bytes, count, NULL);
    json_decref(object);
    return object != NULL;
}

/* Add the complete lines as an array; returns whether anything else follows them. */
static bool add_lines(const struct text *bytes, struct text *text)
{
    const char *at = bytes->bytes;
    text_put(text, "[");
    if (bytes->length == 0)
        return false;
    const char *end = at + bytes->length;
    for (const char *begin = at; at < end; at++) {
        const char *stop = memchr(at, '\n', (size_t)(end - at));
        size_t count = (size_t)((stop ? stop : end) - at);
        if (!is_object(at, count))
            return true;
        text_put(text, at > begin ? ",\n" : "\n");
        text_add_json(text, at, count);
        if (!stop)
            return false;
        at = stop;
    }
    return false;
}

static enum syn_status add_metrics(const char *folder, struct text *text)
{
    char path[PATH_MAX];
    struct text bytes = {0};
    enum syn_status status = join(folder, "metrics.jsonl", path);
    if (status == SYN_OK && access(path, F_OK) == 0)
        status = file_read(path, MOST_METRICS, &bytes);
    text_put(text, ", \"metrics\": ");
    bool is_cut = add_lines(&bytes, text);
    text_put(text, is_cut ? "], \"cut\": true" : "], \"cut\": false");
    text_free(&bytes);
    return status;
}

/* Null if there is none: the run has not finished. */
static enum syn_status add_summary(const char *folder, struct text *text)
{
    char path[PATH_MAX];
    enum syn_status status = join(folder, "summary.json", path);
    text_put(text, ", \"summary\": ");
    if (status == SYN_OK && access(path, F_OK) == 0)
        return add_object(path, text);
    text_put(text, "null");
    return status;
}

static enum syn_status add_settings(const char *folder, struct text *text)
{
    char path[PATH_MAX];
    enum syn_status status = join(folder, "settings.json", path);
    if (status == SYN_OK && access(path, F_OK) != 0)
        return syn_report(SYN_INVALID, "%s is not a run: it has no settings.json", folder);
    text_put(text, ", \"settings\": ");
    return status == SYN_OK ? add_object(path, text) : status;
}

static enum syn_status add_run(const char *folder, struct text *text)
{
    enum syn_status status = add_settings(folder, text);
    if (status == SYN_OK)
        status = add_metrics(folder, text);
    return status == SYN_OK ? add_summary(folder, text) : status;
}

static enum syn_status add_simulation(const char *path, struct text *text)
{
    struct text bytes = {0};
    json_t *object = NULL;
    enum syn_status status = file_read(path, MOST_FIGURES, &bytes);
    if (status == SYN_OK)
        status =
            read_object(&bytes, path, "neither the directory of a run nor a JSON object", &object);
    if (status == SYN_OK)
        status = simulation_check(path, object);
    if (status == SYN_OK) {
        text_put(text, ", \"simulation\": ");
        text_add_json(text, bytes.bytes, bytes.length);
    }
    json_decref(object);
    text_free(&bytes);
    return status;
}

/* One argument of the command line. */
static enum syn_status add_path(const char *path, struct text *text)
{
    struct stat about;
    if (stat(path, &about) != 0)
        return syn_report(SYN_INVALID, "no run or file \"%s\"", path);
    text_put(text, "{\"path\": ");
    text_add_quoted(text, path);
    enum syn_status status =
        S_ISDIR(about.st_mode) ? add_run(path, text) : add_simulation(path, text);
    text_put(text, "}");
    return status;
}

enum syn_status runs_read(const char *const *paths, size_t count, struct text *text)
{
    text_put(text, "[");
    for (size_t i = 0; i < count; i++) {
        text_put(text, i > 0 ? ",\n" : "");
        enum syn_status status = add_path(paths[i], text);
        if (status != SYN_OK)
            return status;
    }
    text_put(text, "]");
    return text_check(text);
}

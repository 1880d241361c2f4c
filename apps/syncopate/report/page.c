/* The parts of the page are separate files, so that editors and browsers recognize them; the build
 * turns them into arrays. Here they are assembled. */
#include "page.h"

#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include "embedded.h"
#include "run.h"

#define VERSION_AT     (sizeof "{\"version\": \"" - 1)
#define VERSION_DIGITS 16

/* FNV-1a. */
static uint64_t hash(const struct text *text)
{
    uint64_t result = 0xcbf29ce484222325U;
    for (size_t i = 0; i < text->length; i++)
        result = (result ^ (unsigned char)text->bytes[i]) * 0x100000001b3U;
    return result;
}

enum syn_status page_add_data(const char *const *paths, size_t count, bool is_followed,
                              struct text *text)
{
    char head[96];
    struct text runs = {0};
    enum syn_status status = runs_read(paths, count, &runs);
    if (status == SYN_OK) {
        snprintf(head, sizeof head, "{\"version\": \"%016llx\", \"follow\": %s, \"runs\": ",
                 (unsigned long long)hash(&runs), is_followed ? "true" : "false");
        text_put(text, head);
        text_add(text, runs.bytes, runs.length);
        text_put(text, "}");
        status = text_check(text);
    }
    text_free(&runs);
    return status;
}

const char *page_version(const struct text *data)
{
    return data->bytes + VERSION_AT;
}

/* What replaces a mark. The marks occur in this order. */
struct part {
    const char *mark;
    const char *bytes;
    size_t count;
};

enum syn_status page_add(const struct text *data, struct text *text)
{
    const struct part parts[] = {
        {"@style@", (const char *)report_page_css, report_page_css_bytes},
        {"@data@", data->bytes, data->length},
        {"@chart@", (const char *)report_chart_js, report_chart_js_bytes},
        {"@bars@", (const char *)report_bars_js, report_bars_js_bytes},
        {"@page@", (const char *)report_page_js, report_page_js_bytes},
    };
    const char *at = (const char *)report_page_html; /* ends with a NUL, as all of them do */
    for (size_t i = 0; i < sizeof parts / sizeof parts[0]; i++) {
        const char *mark = strstr(at, parts[i].mark);
        text_add(text, at, (size_t)(mark - at));
        text_add(text, parts[i].bytes, parts[i].count);
        at = mark + strlen(parts[i].mark);
    }
    text_put(text, at);
    return text_check(text);
}

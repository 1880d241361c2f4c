/* Fuzzes what the report reads of others: JSON, which is either refused or can be walked to its
 * last value, and requests of browsers, which are either refused or name something that is
 * served. */
#include <stdlib.h>
#include <string.h>

#include "report/http.h"
#include "report/json.h"
#include "report/simulation.h"
#include "report/text.h"

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t count);

/* Every value inside another lies inside its bytes, and is a value of its own. */
static void walk(struct json value)
{
    struct json name;
    struct json inner;
    struct json again;
    struct json rest = value;
    if (json_kind(value) != JSON_OBJECT && json_kind(value) != JSON_ARRAY)
        return;
    while (json_next(&rest, &name, &inner)) {
        if (inner.at <= value.at || inner.end >= value.end || name.at < value.at ||
            name.end > inner.at)
            abort();
        if (!json_read(inner.at, (size_t)(inner.end - inner.at), &again) || again.end != inner.end)
            abort();
        walk(inner);
    }
}

/* What is put into a page is still JSON, and holds nothing that could end it. */
static void check_escaped(struct json value)
{
    struct text text = {0};
    struct json again;
    text_add_json(&text, value.at, (size_t)(value.end - value.at));
    if (strchr(text.bytes, '<') || !json_read(text.bytes, text.length, &again))
        abort();
    text_free(&text);
}

static void check_json(const char *bytes, size_t count)
{
    struct json value;
    if (!json_read(bytes, count, &value))
        return;
    walk(value);
    check_escaped(value);
    if (json_kind(value) == JSON_OBJECT)
        simulation_check("fuzz", value);
}

static void check_request(const char *bytes, size_t count)
{
    char version[HTTP_VERSION_BYTES];
    struct text answer = {0};
    enum http_verdict verdict = http_read(bytes, count, 80, version);
    if (verdict == HTTP_DATA && version[0] && strlen(version) != HTTP_VERSION_BYTES - 1)
        abort();
    http_refuse(&answer, verdict);
    text_free(&answer);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t count)
{
    char *copy = malloc(count ? count : 1); /* exactly as long, so that a byte too far is seen */
    if (!copy)
        abort();
    memcpy(copy, bytes, count);
    check_json(copy, count);
    check_request(copy, count);
    free(copy);
    return 0;
}

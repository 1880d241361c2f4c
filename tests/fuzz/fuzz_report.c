/* Fuzzes what the report reads of others: JSON, which is either refused or put into a page as it
 * is, and requests of browsers, which are either refused or name something that is served. */
#include <stdlib.h>
#include <string.h>

#include "report/http.h"
#include "report/object.h"
#include "report/simulation.h"
#include "report/text.h"

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t count);

/* What is put into a page is the same JSON, and holds nothing that could end it. */
static void check_escaped(const char *bytes, size_t count, const json_t *object)
{
    struct text text = {0};
    text_add_json(&text, bytes, count);
    json_t *again = object_read(text.bytes, text.length, NULL);
    if (strchr(text.bytes, '<') || !again || !json_equal(object, again))
        abort();
    json_decref(again);
    text_free(&text);
}

static void check_json(const char *bytes, size_t count)
{
    json_t *object = object_read(bytes, count, NULL);
    if (!object)
        return;
    check_escaped(bytes, count, object);
    simulation_check("fuzz", object);
    json_decref(object);
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

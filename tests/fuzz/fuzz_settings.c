/* Settings from strangers: whatever name and value are given, a table of every kind of row refuses
 * or stores them without touching anything else, and what it stored reads back as itself. An input
 * is a name and a value with a NUL between them. */
#include <assert.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "tests/core/paint.h"

/* Each field typed in again gives the same options. */
static void check_reads_back(const struct paint *paint)
{
    struct paint again;
    memset(&again, 0, sizeof again);
    syn_settings_defaults(&table, &again);
    for (size_t i = 0; i < table.count; i++) {
        char value[SYN_TEXT_BYTES];
        size_t length = syn_settings_value(&rows[i], paint, value, sizeof value);
        assert(length < sizeof value);
        assert(syn_settings_set(&table, &again, rows[i].name, value) == SYN_OK);
    }
    assert(memcmp(&again.gloss, &paint->gloss, sizeof paint->gloss) == 0);
    assert(again.coat_bytes == paint->coat_bytes);
    assert(again.is_wet == paint->is_wet);
    assert(again.colour == paint->colour);
    assert(strcmp(again.maker, paint->maker) == 0);
}

static void check_json_fits(const struct paint *paint)
{
    char text[4096];
    size_t length = syn_settings_json(&table, paint, text, sizeof text);
    assert(length == strlen(text));
    char cut[16];
    assert(syn_settings_json(&table, paint, cut, sizeof cut) == length);
    assert(strncmp(cut, text, sizeof cut - 1) == 0);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    char *name = calloc(1, size + 2); /* so that there are always two strings in it */
    if (!name)
        return 0;
    if (size)
        memcpy(name, data, size);
    const char *value = name + strlen(name) + 1;

    struct paint before;
    memset(&before, 0, sizeof before);
    syn_settings_defaults(&table, &before);
    struct paint paint = before;
    enum syn_status status = syn_settings_set(&table, &paint, name, value);
    assert(status == SYN_OK || status == SYN_INVALID);
    if (status != SYN_OK)
        assert(memcmp(&paint, &before, sizeof paint) == 0);
    assert(syn_settings_check(&table, &paint) == SYN_OK);
    check_reads_back(&paint);
    check_json_fits(&paint);
    free(name);
    return 0;
}

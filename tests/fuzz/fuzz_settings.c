/* Settings from strangers: whatever name and value are given, a table of every kind of row refuses
 * or stores them without touching anything else, and what it stored reads back as itself. An input
 * is a name and a value with a NUL between them. */
#include <assert.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <syncopate/settings.h>

static const char *colours(size_t i)
{
    static const char *const names[] = {"red", "green"};
    return i < 2 ? names[i] : NULL;
}

struct paint {
    double gloss;
    uint64_t coat_bytes;
    bool is_wet;
    const char *colour;
    char maker[SYN_TEXT_BYTES];
};

static const struct syn_setting rows[] = {
    SYN_SETTING_ROW(struct paint, REAL, gloss, "0.001", 0, 1, NULL, "how shiny"),
    SYN_SETTING_ROW(struct paint, COUNT, coat_bytes, "4k", 1, 1e9, NULL, "how thick"),
    SYN_SETTING_ROW(struct paint, SWITCH, is_wet, "off", 0, 1, NULL, "whether wet"),
    SYN_SETTING_ROW(struct paint, CHOICE, colour, "green", 0, 0, colours, "which colour"),
    SYN_SETTING_ROW(struct paint, TEXT, maker, "", 0, 0, NULL, "who made it"),
};
static const struct syn_settings_table table = {"Paint", rows, sizeof rows / sizeof rows[0]};

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

/* A table of settings with a row of every kind, for who tests settings. */
#ifndef TESTS_PAINT_H
#define TESTS_PAINT_H

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

#endif

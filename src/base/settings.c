/* Settings from rows: parsing, checking, help and JSON. Everything about a setting is in its row;
 * this file knows none of them by name. */
#include <syncopate/settings.h>

#include <errno.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <syncopate/text.h>

#include "base/status.h"

/* A text appended to a caller's buffer; its length includes what did not fit. */
struct text {
    char *at;
    size_t capacity;
    size_t length;
};

static void put(struct text *text, const char *format, ...) SYN_PRINTF(2, 3);

static void put(struct text *text, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    size_t room = text->length < text->capacity ? text->capacity - text->length : 0;
    int wrote = syn_text_print_list(room ? text->at + text->length : NULL, room, format, arguments);
    va_end(arguments);
    if (wrote > 0)
        text->length += (size_t)wrote;
}

static bool same_name(const char *a, const char *b)
{
    for (; *a && *b; a++, b++)
        if (*a != *b && !((*a == '-' || *a == '_') && (*b == '-' || *b == '_')))
            return false;
    return *a == *b;
}

static const struct syn_setting *find(const struct syn_settings_table *table, const char *name)
{
    for (size_t i = 0; i < table->count; i++)
        if (same_name(table->rows[i].name, name))
            return &table->rows[i];
    return NULL;
}

static void *field(const struct syn_setting *row, void *options)
{
    return (char *)options + row->offset;
}

static void put_flag(struct text *text, const struct syn_setting *row)
{
    for (const char *c = row->name; *c; c++)
        put(text, "%c", *c == '_' ? '-' : *c);
}

static void put_number(struct text *text, double value)
{
    /* The shortest form that reads back as the same number. */
    char form[32];
    for (int digits = 1; digits <= 17; digits++) {
        syn_text_print(form, sizeof form, "%.*g", digits, value);
        if (syn_text_number(form, NULL) == value)
            break;
    }
    put(text, "%s", form);
}

static void put_choices(struct text *text, const struct syn_setting *row, const char *between)
{
    for (size_t i = 0; row->choices(i); i++)
        put(text, "%s%s", i ? between : "", row->choices(i));
}

static void put_range(struct text *text, const struct syn_setting *row)
{
    put(text, "%.12g to ", row->minimum);
    if (isinf(row->maximum) || row->maximum >= 0x1p53)
        put(text, "any");
    else
        put(text, "%.12g", row->maximum);
}

static void put_expected(struct text *text, const struct syn_setting *row)
{
    switch (row->kind) {
    case SYN_SETTING_REAL:
        put(text, "a number from ");
        put_range(text, row);
        if (row->choices)
            put(text, " or %s", row->choices(0));
        break;
    case SYN_SETTING_COUNT:
        put(text, "a whole number from ");
        put_range(text, row);
        break;
    case SYN_SETTING_SWITCH:
        put(text, "on or off");
        break;
    case SYN_SETTING_CHOICE:
        put(text, "one of ");
        put_choices(text, row, ", ");
        break;
    case SYN_SETTING_TEXT:
        put(text, "at most %d bytes", SYN_TEXT_BYTES - 1);
        break;
    }
}

static enum syn_status refuse(const struct syn_setting *row, const char *value)
{
    char flag[64];
    char expected[256];
    struct text name = {flag, sizeof flag, 0};
    struct text text = {expected, sizeof expected, 0};
    put_flag(&name, row);
    put_expected(&text, row);
    return syn_fail(SYN_INVALID, "%s: \"%.64s\" is not valid; expected %s", flag, value, expected);
}

/* The word that leaves a number to be determined automatically; NULL if the row has none. */
static const char *word_of(const struct syn_setting *row)
{
    return row->kind == SYN_SETTING_REAL && row->choices ? row->choices(0) : NULL;
}

static bool is_auto(const struct syn_setting *row, double value)
{
    return word_of(row) && value == SYN_AUTO;
}

static bool in_range(const struct syn_setting *row, double value)
{
    return value >= row->minimum && value <= row->maximum;
}

static bool parse_real(const struct syn_setting *row, const char *value, double *result)
{
    char *end;
    if (word_of(row) && strcmp(value, word_of(row)) == 0) {
        *result = SYN_AUTO;
        return true;
    }
    errno = 0;
    *result = syn_text_number(value, &end);
    return end != value && *end == '\0' && !isnan(*result) && in_range(row, *result);
}

static bool parse_count(const struct syn_setting *row, const char *value, uint64_t *result)
{
    static const char units[] = "kMG";
    char *end;
    errno = 0;
    unsigned long long number = strtoull(value, &end, 10);
    if (end == value || errno != 0 || value[0] == '-' || value[0] == '+' || value[0] == ' ')
        return false;
    const char *unit = *end ? strchr(units, *end) : NULL;
    if (unit) {
        unsigned shift = 10U * (unsigned)(unit - units + 1);
        if (number > UINT64_MAX >> shift)
            return false;
        number <<= shift;
        end++;
    }
    *result = number;
    return *end == '\0' && in_range(row, (double)number);
}

static bool parse_switch(const char *value, bool *result)
{
    static const char *const words[] = {"off", "on", "false", "true", "no", "yes", "0", "1"};
    for (size_t i = 0; i < sizeof words / sizeof words[0]; i++) {
        if (strcmp(value, words[i]) == 0) {
            *result = i % 2 == 1;
            return true;
        }
    }
    return false;
}

static const char *find_choice(const struct syn_setting *row, const char *value)
{
    for (size_t i = 0; row->choices(i); i++)
        if (strcmp(row->choices(i), value) == 0)
            return row->choices(i);
    return NULL;
}

/* Parse and store; false, with nothing stored, if value does not fit the row. */
static bool store(const struct syn_setting *row, void *options, const char *value)
{
    void *at = field(row, options);
    double real;
    uint64_t count;
    bool on;
    const char *choice;
    switch (row->kind) {
    case SYN_SETTING_REAL:
        return parse_real(row, value, &real) && (*(double *)at = real, true);
    case SYN_SETTING_COUNT:
        return parse_count(row, value, &count) && (*(uint64_t *)at = count, true);
    case SYN_SETTING_SWITCH:
        return parse_switch(value, &on) && (*(bool *)at = on, true);
    case SYN_SETTING_CHOICE:
        choice = find_choice(row, value);
        return choice && (*(const char **)at = choice, true);
    case SYN_SETTING_TEXT:
        return strlen(value) < SYN_TEXT_BYTES && (memcpy(at, value, strlen(value) + 1), true);
    }
    return false;
}

/* A row whose own default is not valid is a bug in the row; the field is set nevertheless, so that
 * uninitialised memory is never read. */
static void clear(const struct syn_setting *row, void *options)
{
    static const size_t sizes[] = {
        [SYN_SETTING_REAL] = sizeof(double), [SYN_SETTING_COUNT] = sizeof(uint64_t),
        [SYN_SETTING_SWITCH] = sizeof(bool), [SYN_SETTING_CHOICE] = sizeof(const char *),
        [SYN_SETTING_TEXT] = SYN_TEXT_BYTES,
    };
    refuse(row, row->initial);
    memset(field(row, options), 0, sizes[row->kind]);
    if (row->kind == SYN_SETTING_CHOICE)
        *(const char **)field(row, options) = row->choices(0);
}

void syn_settings_defaults(const struct syn_settings_table *table, void *options)
{
    for (size_t i = 0; i < table->count; i++)
        if (!store(&table->rows[i], options, table->rows[i].initial))
            clear(&table->rows[i], options);
}

bool syn_settings_has(const struct syn_settings_table *table, const char *name)
{
    return find(table, name) != NULL;
}

bool syn_settings_is_switch(const struct syn_settings_table *table, const char *name)
{
    const struct syn_setting *row = find(table, name);
    return row && row->kind == SYN_SETTING_SWITCH;
}

enum syn_status syn_settings_set(const struct syn_settings_table *table, void *options,
                                 const char *name, const char *value)
{
    const struct syn_setting *row = find(table, name);
    if (!row)
        return syn_fail(SYN_INVALID, "unknown setting \"%.64s\"", name);
    return store(row, options, value) ? SYN_OK : refuse(row, value);
}

enum syn_status syn_settings_check(const struct syn_settings_table *table, void *options)
{
    for (size_t i = 0; i < table->count; i++) {
        const struct syn_setting *row = &table->rows[i];
        void *at = field(row, options);
        char value[SYN_TEXT_BYTES] = "(none)";
        bool fits = true;
        if (row->kind == SYN_SETTING_REAL)
            fits = in_range(row, *(double *)at) || is_auto(row, *(double *)at);
        else if (row->kind == SYN_SETTING_COUNT)
            fits = in_range(row, (double)*(uint64_t *)at);
        else if (row->kind == SYN_SETTING_CHOICE)
            fits = *(const char **)at && store(row, options, *(const char **)at);
        if (!fits) {
            if (row->kind != SYN_SETTING_CHOICE || *(const char **)at)
                syn_settings_value(row, options, value, sizeof value);
            return refuse(row, value);
        }
    }
    return SYN_OK;
}

size_t syn_settings_value(const struct syn_setting *row, const void *options, char *text,
                          size_t capacity)
{
    const void *at = (const char *)options + row->offset;
    struct text out = {text, capacity, 0};
    switch (row->kind) {
    case SYN_SETTING_REAL:
        if (is_auto(row, *(const double *)at))
            put(&out, "%s", word_of(row));
        else
            put_number(&out, *(const double *)at);
        break;
    case SYN_SETTING_COUNT:
        put(&out, "%llu", (unsigned long long)*(const uint64_t *)at);
        break;
    case SYN_SETTING_SWITCH:
        put(&out, "%s", *(const bool *)at ? "on" : "off");
        break;
    case SYN_SETTING_CHOICE: /* NULL: a caller left it open */
        put(&out, "%s", *(const char *const *)at ? *(const char *const *)at : "");
        break;
    case SYN_SETTING_TEXT:
        put(&out, "%s", (const char *)at);
        break;
    }
    return out.length;
}

static void put_json_string(struct text *text, const char *value)
{
    put(text, "\"");
    for (const char *c = value; *c; c++) {
        if (*c == '"' || *c == '\\')
            put(text, "\\%c", *c);
        else if ((unsigned char)*c < 0x20)
            put(text, "\\u%04x", (unsigned)(unsigned char)*c);
        else
            put(text, "%c", *c);
    }
    put(text, "\"");
}

/* Some reals may be given as a word instead, such as auto. */
static bool is_number(const struct syn_setting *row, const char *value)
{
    bool starts_as_number = value[0] == '-' || (value[0] >= '0' && value[0] <= '9');
    return row->kind == SYN_SETTING_COUNT || (row->kind == SYN_SETTING_REAL && starts_as_number);
}

size_t syn_settings_json(const struct syn_settings_table *table, const void *options, char *text,
                         size_t capacity)
{
    struct text out = {text, capacity, 0};
    put(&out, "{");
    for (size_t i = 0; i < table->count; i++) {
        const struct syn_setting *row = &table->rows[i];
        char value[SYN_TEXT_BYTES];
        syn_settings_value(row, options, value, sizeof value);
        put(&out, "%s\"%s\": ", i ? ", " : "", row->name);
        if (row->kind == SYN_SETTING_SWITCH)
            put(&out, "%s", strcmp(value, "on") == 0 ? "true" : "false");
        else if (is_number(row, value))
            put(&out, "%s", value);
        else
            put_json_string(&out, value);
    }
    put(&out, "}");
    return out.length;
}

size_t syn_settings_lines(const struct syn_settings_table *table, const void *options, char *text,
                          size_t capacity)
{
    struct text out = {text, capacity, 0};
    for (size_t i = 0; i < table->count; i++) {
        char value[SYN_TEXT_BYTES];
        if (table->rows[i].may_differ)
            continue;
        syn_settings_value(&table->rows[i], options, value, sizeof value);
        put_flag(&out, &table->rows[i]);
        put(&out, " %s\n", value);
    }
    return out.length;
}

size_t syn_settings_help(const struct syn_settings_table *table, char *text, size_t capacity)
{
    struct text out = {text, capacity, 0};
    put(&out, "%s:\n", table->title);
    for (size_t i = 0; i < table->count; i++) {
        const struct syn_setting *row = &table->rows[i];
        put(&out, "  --");
        put_flag(&out, row);
        if (row->kind == SYN_SETTING_CHOICE) {
            put(&out, " ");
            put_choices(&out, row, "|");
        } else if (row->kind == SYN_SETTING_REAL || row->kind == SYN_SETTING_COUNT) {
            put(&out, " N  (");
            put_range(&out, row);
            if (word_of(row))
                put(&out, " or %s", word_of(row));
            put(&out, ")");
        } else if (row->kind == SYN_SETTING_TEXT) {
            put(&out, " TEXT");
        }
        put(&out, "\n      %s", row->help);
        if (row->initial[0])
            put(&out, " [%s]", row->initial);
        put(&out, "\n");
    }
    return out.length;
}

/* Settings as rows: a setting's type, name, default, range and help are written once, in a .def
 * list; its struct field, parser, help text and JSON are generated from there.
 *
 * A list is a file of rows
 *
 *     SYN_SETTING(KIND, field, "default", minimum, maximum, choices, "help")
 *
 * where KIND is one of REAL, COUNT, SWITCH, CHOICE, TEXT. All workers must have the same value,
 * which syn_group_compare() checks, unless KIND is OWN_COUNT, OWN_SWITCH or OWN_TEXT: these are
 * settings that each worker may choose for itself, such as a directory. The struct is declared by
 *
 *     struct my_options {
 *     #define SYN_SETTING SYN_SETTING_FIELD
 *     #include "my_options.def"
 *     #undef SYN_SETTING
 *     };
 *
 * and the table by
 *
 *     static const struct syn_setting rows[] = {
 *     #define SYN_SETTING(...) SYN_SETTING_ROW(struct my_options, __VA_ARGS__),
 *     #include "my_options.def"
 *     #undef SYN_SETTING
 *     };
 *     const struct syn_settings_table my_settings = {"my part", rows,
 *                                                    sizeof rows / sizeof rows[0]};
 *
 * A field bucket_bytes corresponds to the flag --bucket-bytes; both spellings are accepted. */
#ifndef SYNCOPATE_SETTINGS_H
#define SYNCOPATE_SETTINGS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <syncopate/status.h>

#ifdef __cplusplus
extern "C" {
#endif

enum syn_setting_kind {
    SYN_SETTING_REAL,   /* double, in [minimum, maximum], or SYN_AUTO, spelled choices(0) */
    SYN_SETTING_COUNT,  /* uint64_t, in [minimum, maximum]; 64k, 8M, 2G are multiples of 1024 */
    SYN_SETTING_SWITCH, /* bool: on, off, true, false, yes, no, 1, 0 */
    SYN_SETTING_CHOICE, /* const char *, one of choices(0), choices(1), ... until NULL */
    SYN_SETTING_TEXT    /* char[SYN_TEXT_BYTES] */
};

#define SYN_TEXT_BYTES 256

/* The value of a REAL whose row has a word for "determine it automatically", when that word was
 * given. */
#define SYN_AUTO (-1.0)

/* Name number i of a table, or NULL past the last. */
typedef const char *syn_choices(size_t i);

struct syn_setting {
    const char *name;
    enum syn_setting_kind kind;
    bool may_differ;     /* between workers; see above */
    size_t offset;       /* of the field in its struct */
    const char *initial; /* the default, as it would be typed */
    double minimum;
    double maximum;
    syn_choices *choices; /* of a CHOICE; for a REAL, the word for SYN_AUTO, if it has one */
    const char *help;     /* one line */
};

struct syn_settings_table {
    const char *title; /* heading of its section in the help text */
    const struct syn_setting *rows;
    size_t count;
};

#define SYN_SETTING_TYPE_REAL(field)   double field;
#define SYN_SETTING_TYPE_COUNT(field)  uint64_t field;
#define SYN_SETTING_TYPE_SWITCH(field) bool field;
#define SYN_SETTING_TYPE_CHOICE(field) const char *field;
#define SYN_SETTING_TYPE_TEXT(field)   char field[SYN_TEXT_BYTES];

#define SYN_SETTING_TYPE_OWN_COUNT(field)  SYN_SETTING_TYPE_COUNT(field)
#define SYN_SETTING_TYPE_OWN_SWITCH(field) SYN_SETTING_TYPE_SWITCH(field)
#define SYN_SETTING_TYPE_OWN_TEXT(field)   SYN_SETTING_TYPE_TEXT(field)

/* The kind of a row, and whether its value may differ between workers. */
#define SYN_SETTING_KIND_REAL       SYN_SETTING_REAL, false
#define SYN_SETTING_KIND_COUNT      SYN_SETTING_COUNT, false
#define SYN_SETTING_KIND_SWITCH     SYN_SETTING_SWITCH, false
#define SYN_SETTING_KIND_CHOICE     SYN_SETTING_CHOICE, false
#define SYN_SETTING_KIND_TEXT       SYN_SETTING_TEXT, false
#define SYN_SETTING_KIND_OWN_COUNT  SYN_SETTING_COUNT, true
#define SYN_SETTING_KIND_OWN_SWITCH SYN_SETTING_SWITCH, true
#define SYN_SETTING_KIND_OWN_TEXT   SYN_SETTING_TEXT, true

#define SYN_SETTING_FIELD(kind, field, initial, minimum, maximum, choices, help)                   \
    SYN_SETTING_TYPE_##kind(field)

#define SYN_SETTING_ROW(type, kind, field, initial, minimum, maximum, choices, help)               \
    {                                                                                              \
#field, SYN_SETTING_KIND_##kind, offsetof(type, field), initial, (double)(minimum),        \
            (double)(maximum), choices, help                                                       \
    }

/* Set every field of options to its default. */
void syn_settings_defaults(const struct syn_settings_table *table, void *options);

/* Whether the table has a setting of that name ('-' and '_' are equivalent). */
bool syn_settings_has(const struct syn_settings_table *table, const char *name);

/* Whether that setting is a SWITCH, so that a bare --flag means "on"; false for unknown names. */
bool syn_settings_is_switch(const struct syn_settings_table *table, const char *name);

/* Parse value into the named field. An unknown name, or a value that cannot be parsed or is out of
 * range: SYN_INVALID with the value and what was expected; options unchanged. */
enum syn_status syn_settings_set(const struct syn_settings_table *table, void *options,
                                 const char *name, const char *value);

/* Check every field against its row, for options that were filled in directly. CHOICE fields are
 * replaced by the table's own copy of the name, which outlives the caller's. */
enum syn_status syn_settings_check(const struct syn_settings_table *table, void *options);

/* The functions below write into text as snprintf does: at most capacity bytes including the final
 * NUL; they return the length of the complete text. */

/* One JSON object: {"density": 0.001, ...}. Equal options give the same text. */
size_t syn_settings_json(const struct syn_settings_table *table, const void *options, char *text,
                         size_t capacity);

/* One setting's value as it would be typed. */
size_t syn_settings_value(const struct syn_setting *row, const void *options, char *text,
                          size_t capacity);

/* The settings that must be equal on all workers, for syn_group_compare(): one line "name value"
 * each. */
size_t syn_settings_lines(const struct syn_settings_table *table, const void *options, char *text,
                          size_t capacity);

/* The help text: two lines per setting, with its default and its range or choices. */
size_t syn_settings_help(const struct syn_settings_table *table, char *text, size_t capacity);

#ifdef __cplusplus
}
#endif
#endif

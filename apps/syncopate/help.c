/* Help in four forms. Manual pages and completion are generated from the rows that parse the flags,
 * so they always agree with the command. */
#include "help.h"

#include <stdio.h>
#include <string.h>

#include <syncopate/text.h>
#include <syncopate/version.h>

enum help_form help_asked(int argc, char **argv)
{
    static const struct {
        const char *word;
        enum help_form form;
    } words[] = {
        {"--help", HELP_TEXT},        {"-h", HELP_TEXT},
        {"--help=all", HELP_ALL},     {"--help=man", HELP_MAN},
        {"--help=words", HELP_WORDS},
    };
    for (size_t i = 0; i < sizeof words / sizeof words[0]; i++)
        if (strcmp(argv[0], words[i].word) == 0) {
            bool wants_all = words[i].form == HELP_TEXT && argc > 1 && strcmp(argv[1], "all") == 0;
            return wants_all ? HELP_ALL : words[i].form;
        }
    return HELP_NONE;
}

/* A default in a form for people: 10, not 1e+01 as in files. */
static void put_default(const struct syn_setting *row, const void *options,
                        char text[SYN_TEXT_BYTES])
{
    syn_settings_value(row, options, text, SYN_TEXT_BYTES);
    char *end;
    double number = syn_text_number(text, &end);
    if (row->kind == SYN_SETTING_REAL && end != text && *end == '\0') /* not "auto" */
        syn_text_print(text, SYN_TEXT_BYTES, "%.12g", number);
}

/* Whether --no-NAME is worth showing: NAME is a switch and does not itself begin with "no". */
static bool can_be_denied(const struct syn_setting *row)
{
    return row->kind == SYN_SETTING_SWITCH && strncmp(row->name, "no_", 3) != 0;
}

/* A field's name as it is typed: lr_schedule is --lr-schedule.
 *   denial  "no-", or nothing
 *   dash    as the form of help writes it */
static void print_flag(const struct syn_setting *row, const char *denial, const char *dash)
{
    printf("%s%s", dash, dash);
    for (const char *c = denial; *c; c++)
        *c == '-' ? fputs(dash, stdout) : putchar(*c);
    for (const char *c = row->name; *c; c++)
        *c == '_' ? fputs(dash, stdout) : putchar(*c);
}

static void print_choices(const struct syn_setting *row, char between)
{
    for (size_t i = 0; row->choices && row->choices(i); i++)
        printf("%s%s", i ? (char[]){between, '\0'} : "", row->choices(i));
}

/* A line of roff, in which a backslash, a hyphen and a leading dot or quote are special. */
static void print_roff(const char *text)
{
    if (*text == '.' || *text == '\'')
        fputs("\\&", stdout);
    for (const char *c = text; *c; c++)
        if (*c == '\\')
            fputs("\\e", stdout);
        else if (*c == '-')
            fputs("\\-", stdout);
        else
            putchar(*c);
}

static void print_row_roff(const struct syn_setting *row, const void *options)
{
    char value[SYN_TEXT_BYTES];
    put_default(row, options, value);
    printf(".TP\n.B ");
    print_flag(row, "", "\\-");
    if (can_be_denied(row)) {
        printf("\\fR, \\fB");
        print_flag(row, "no-", "\\-");
    }
    if (row->kind == SYN_SETTING_CHOICE) {
        printf(" \\fR");
        print_choices(row, '|');
    } else if (row->kind == SYN_SETTING_REAL || row->kind == SYN_SETTING_COUNT) {
        printf(" \\fIN");
    } else if (row->kind == SYN_SETTING_TEXT) {
        printf(" \\fITEXT");
    }
    printf("\\fR\n");
    print_roff(row->help);
    if (value[0]) {
        printf(" [");
        print_roff(value);
        putchar(']');
    }
    putchar('\n');
}

/* syncopate bench step is syncopate-bench-step(1). */
static void print_head(const char *prefix, const char *name, const char *help)
{
    char page[128];
    snprintf(page, sizeof page, "%s%s%s", prefix, *name ? " " : "", name);
    for (char *c = page; *c; c++)
        *c = *c == ' ' ? '-' : *c;
    printf(".TH \"%s\" 1 \"\" \"Syncopate %s\"\n.SH NAME\n", page, syn_version());
    print_roff(page);
    printf(" \\- ");
    print_roff(help);
    printf("\n.SH SYNOPSIS\n.B ");
    print_roff(prefix);
}

static void print_manual(const struct help *help)
{
    print_head(help->prefix, help->self->name, help->self->help);
    printf(" %s\\fR\n", help->self->name);
    print_roff(help->self->usage);
    putchar('\n');
    for (size_t i = 0; i < help->count; i++) {
        const struct flag_set *set = &help->sets[i];
        printf(".SH \"%s\"\n", set->table->title);
        for (size_t j = 0; j < set->table->count; j++)
            print_row_roff(&set->table->rows[j], set->options);
    }
    printf(".SH \"EXIT STATUS\"\n0: success; 1: a file, a peer or memory failed; "
           "2: invalid input; 128 + N: stopped by signal N, state saved.\n"
           ".SH \"SEE ALSO\"\n.BR syncopate (1)\n");
}

/* A line for each flag: the flag, the values it takes (on, off; the choices; none), what it
 * does. */
static void print_words(const struct help *help)
{
    for (size_t i = 0; i < help->count; i++)
        for (size_t j = 0; j < help->sets[i].table->count; j++) {
            const struct syn_setting *row = &help->sets[i].table->rows[j];
            print_flag(row, "", "-");
            putchar('\t');
            if (row->kind == SYN_SETTING_SWITCH)
                printf("on off");
            print_choices(row, ' ');
            printf("\t%s\n", row->help);
            if (!can_be_denied(row))
                continue;
            print_flag(row, "no-", "-");
            printf("\t\tturn it off\n");
        }
    printf("--help\tall\tthis list\n");
}

/* The lines of one flag, as the library writes them, with its value as the default. */
static void print_row(const struct syn_setting *row, const void *options)
{
    char value[SYN_TEXT_BYTES];
    char text[2048];
    struct syn_setting shown = *row;
    const struct syn_settings_table table = {"", &shown, 1};
    put_default(row, options, value);
    shown.initial = value;
    syn_settings_help(&table, text, sizeof text);
    const char *lines = strstr(text, "--") + 2;
    printf("  --%s%s", can_be_denied(row) ? "[no-]" : "", lines);
}

static void print_all(const struct help *help)
{
    for (size_t i = 0; i < help->count; i++) {
        const struct flag_set *set = &help->sets[i];
        printf("\n%s:\n", set->table->title);
        for (size_t j = 0; j < set->table->count; j++)
            print_row(&set->table->rows[j], set->options);
    }
}

static void print_named(const struct help *help, const char *name)
{
    for (size_t i = 0; i < help->count; i++) {
        const struct flag_set *set = &help->sets[i];
        for (size_t j = 0; j < set->table->count; j++)
            if (strcmp(set->table->rows[j].name, name) == 0)
                print_row(&set->table->rows[j], set->options);
    }
}

static size_t count_flags(const struct help *help)
{
    size_t flags = 0;
    for (size_t i = 0; i < help->count; i++)
        flags += help->sets[i].table->count;
    return flags;
}

static void print_text(const struct help *help, bool wants_all)
{
    printf("usage: %s %s %s\n%s\n", help->prefix, help->self->name, help->self->usage,
           help->self->help);
    if (wants_all || help->common_count == 0) {
        print_all(help);
        return;
    }
    putchar('\n');
    for (size_t i = 0; i < help->common_count; i++)
        print_named(help, help->common[i]);
    printf("\n%s %s --help all lists the other %zu flags.\n", help->prefix, help->self->name,
           count_flags(help) - help->common_count);
}

void help_print(enum help_form form, const struct help *help)
{
    if (form == HELP_MAN)
        print_manual(help);
    else if (form == HELP_WORDS)
        print_words(help);
    else
        print_text(help, form == HELP_ALL);
}

static void print_table_text(const char *prefix, const struct command *const *table, size_t count)
{
    printf("usage: %s COMMAND [options]\n\n", prefix);
    for (size_t i = 0; i < count; i++)
        printf("  %-10s %s\n", table[i]->name, table[i]->help);
    printf("\n%s COMMAND --help explains each.\n", prefix);
}

static void print_table_manual(const char *prefix, const struct command *const *table, size_t count)
{
    print_head(prefix, "",
               strchr(prefix, ' ') ? "a group of commands"
                                   : "train one neural network over a slow network");
    printf("\\fR\n.I COMMAND\n[options]\n.SH COMMANDS\n");
    for (size_t i = 0; i < count; i++) {
        printf(".TP\n.B %s\n", table[i]->name);
        print_roff(table[i]->help);
        putchar('\n');
    }
    printf(".PP\nEvery command has its own manual page, such as ");
    print_roff(prefix);
    printf("\\-%s(1).\n", table[0]->name);
}

void help_print_table(enum help_form form, const char *prefix, const struct command *const *table,
                      size_t count)
{
    if (form == HELP_MAN)
        print_table_manual(prefix, table, count);
    else if (form != HELP_WORDS)
        print_table_text(prefix, table, count);
    for (size_t i = 0; form == HELP_WORDS && i < count; i++)
        printf("%s\t\t%s\n", table[i]->name, table[i]->help);
}

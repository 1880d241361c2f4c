/* Help in three forms. Manual pages and completion come from the rows that parse the flags, so that
 * they cannot say anything else than the command does. */
#include "help.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <syncopate/version.h>

enum help_form help_asked(const char *word)
{
    static const struct {
        const char *word;
        enum help_form form;
    } words[] = {
        {"--help", HELP_TEXT},
        {"-h", HELP_TEXT},
        {"--help=man", HELP_MAN},
        {"--help=words", HELP_WORDS},
    };
    for (size_t i = 0; i < sizeof words / sizeof words[0]; i++)
        if (strcmp(word, words[i].word) == 0)
            return words[i].form;
    return HELP_NONE;
}

/* A field's name as it is typed: lr_schedule is --lr-schedule. */
static void print_flag(const struct syn_setting *row, const char *dash)
{
    printf("%s%s", dash, dash);
    for (const char *c = row->name; *c; c++)
        if (*c == '_')
            fputs(dash, stdout);
        else
            putchar(*c);
}

static void print_choices(const struct syn_setting *row, char between)
{
    for (size_t i = 0; row->choices && row->choices(i); i++)
        printf("%s%s", i ? (char[]){between, '\0'} : "", row->choices(i));
}

/* A line of roff: a backslash, a hyphen and a leading dot or quote mean something there. */
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

static void print_row_roff(const struct syn_setting *row)
{
    printf(".TP\n.B ");
    print_flag(row, "\\-");
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
    if (row->initial[0]) {
        printf(" [");
        print_roff(row->initial);
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

static void print_manual(const char *prefix, const struct command *self,
                         const struct flag_set *sets, size_t count)
{
    print_head(prefix, self->name, self->help);
    printf(" %s\\fR\n", self->name);
    print_roff(self->usage);
    putchar('\n');
    for (size_t i = 0; i < count; i++) {
        printf(".SH \"%s\"\n", sets[i].table->title);
        for (size_t j = 0; j < sets[i].table->count; j++)
            print_row_roff(&sets[i].table->rows[j]);
    }
    printf(
        ".SH \"EXIT STATUS\"\n0: done; 1: a file, a peer or memory failed; 2: something that was "
        "given cannot be; 128 + the signal's number: stopped by it, and saved.\n"
        ".SH \"SEE ALSO\"\n.BR syncopate (1)\n");
}

/* A line for each flag: the flag, what it takes (on, off; the choices; nothing), what it does. */
static void print_words(const struct flag_set *sets, size_t count)
{
    for (size_t i = 0; i < count; i++)
        for (size_t j = 0; j < sets[i].table->count; j++) {
            const struct syn_setting *row = &sets[i].table->rows[j];
            print_flag(row, "-");
            putchar('\t');
            if (row->kind == SYN_SETTING_SWITCH)
                printf("on off");
            print_choices(row, ' ');
            printf("\t%s\n", row->help);
        }
    printf("--help\t\tthis list\n");
}

static void print_text(const char *prefix, const struct command *self, const struct flag_set *sets,
                       size_t count)
{
    printf("usage: %s %s %s\n%s\n", prefix, self->name, self->usage, self->help);
    for (size_t i = 0; i < count; i++) {
        size_t length = syn_settings_help(sets[i].table, NULL, 0);
        char *text = malloc(length + 1);
        if (!text)
            return;
        syn_settings_help(sets[i].table, text, length + 1);
        printf("\n%s", text);
        free(text);
    }
}

void help_print(enum help_form form, const char *prefix, const struct command *self,
                const struct flag_set *sets, size_t count)
{
    if (form == HELP_MAN)
        print_manual(prefix, self, sets, count);
    else if (form == HELP_WORDS)
        print_words(sets, count);
    else
        print_text(prefix, self, sets, count);
}

static void print_table_text(const char *prefix, const struct command *const *table, size_t count)
{
    printf("usage: %s COMMAND [options]\n\n", prefix);
    for (size_t i = 0; i < count; i++)
        printf("  %-10s %s\n", table[i]->name, table[i]->help);
    printf("\n%s COMMAND --help tells more.\n", prefix);
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
    printf(".PP\nEvery command has a page of its own, such as ");
    print_roff(prefix);
    printf("\\-%s(1).\n", table[0]->name);
}

void help_print_table(enum help_form form, const char *prefix, const struct command *const *table,
                      size_t count)
{
    if (form == HELP_MAN)
        print_table_manual(prefix, table, count);
    else if (form == HELP_TEXT)
        print_table_text(prefix, table, count);
    for (size_t i = 0; form == HELP_WORDS && i < count; i++)
        printf("%s\t\t%s\n", table[i]->name, table[i]->help);
}

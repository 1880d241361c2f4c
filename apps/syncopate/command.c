/* Finding a subcommand by name, and reading flags into settings. */
#include "command.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include <syncopate/group.h>

#include "help.h"

/* The words typed before the name of the running command, such as "syncopate bench". */
static const char *typed = "syncopate";

static int run_as(const char *prefix, const struct command *command, int argc, char **argv)
{
    typed = prefix;
    return command->run(command, argc, argv);
}

int command_dispatch(const char *prefix, const struct command *const *table, size_t count, int argc,
                     char **argv)
{
    enum help_form form = argc < 1 ? HELP_TEXT : help_asked(argc, argv);
    if (form != HELP_NONE) {
        help_print_table(form, prefix, table, count);
        return argc < 1 ? EXIT_USAGE : EXIT_GOOD;
    }
    for (size_t i = 0; i < count; i++)
        if (strcmp(table[i]->name, argv[0]) == 0)
            return run_as(prefix, table[i], argc - 1, argv + 1);
    fprintf(stderr, "syncopate: no command \"%s %.64s\"; expected one of:", prefix, argv[0]);
    for (size_t i = 0; i < count; i++)
        fprintf(stderr, " %s", table[i]->name);
    fprintf(stderr, "\n");
    return EXIT_USAGE;
}

static const struct flag_set *find_set(const struct flag_set *sets, size_t count, const char *name)
{
    for (size_t i = 0; i < count; i++)
        if (syn_settings_has(sets[i].table, name))
            return &sets[i];
    return NULL;
}

/* --no-evaluate, if evaluate is a switch; a flag with that very name takes precedence. */
static const struct flag_set *find_denied(const struct flag_set *sets, size_t count,
                                          const char *name)
{
    if (strncmp(name, "no-", 3) != 0)
        return NULL;
    const struct flag_set *set = find_set(sets, count, name + 3);
    return set && syn_settings_is_switch(set->table, name + 3) ? set : NULL;
}

static enum syn_status deny(const struct flag_set *set, const char *name, bool has_value)
{
    if (!has_value)
        return syn_settings_set(set->table, set->options, name + 3, "off");
    usage_error("--%s takes no value; use --%s=on or --%s=off", name, name + 3, name + 3);
    return SYN_INVALID;
}

/* Read one flag; *at moves past its value if that was a separate word. */
static enum syn_status read_flag(const struct command *self, const struct flag_set *sets,
                                 size_t count, int argc, char **argv, int *at)
{
    char name[64];
    const char *flag = argv[*at] + 2;
    const char *value = strchr(flag, '=');
    size_t length = value ? (size_t)(value - flag) : strlen(flag);
    snprintf(name, sizeof name, "%.*s", (int)(length < 63 ? length : 63), flag);
    const struct flag_set *set = find_set(sets, count, name);
    const struct flag_set *denied = set ? NULL : find_denied(sets, count, name);
    if (denied)
        return deny(denied, name, value != NULL);
    if (!set) {
        usage_error("unknown flag --%s; see %s %s --help", name, typed, self->name);
        return SYN_INVALID;
    }
    if (value)
        return syn_settings_set(set->table, set->options, name, value + 1);
    bool has_next = *at + 1 < argc && strncmp(argv[*at + 1], "--", 2) != 0;
    if (syn_settings_is_switch(set->table, name)) {
        const char *next = has_next ? argv[*at + 1] : "";
        bool explicit_value = strcmp(next, "on") == 0 || strcmp(next, "off") == 0;
        *at += explicit_value ? 1 : 0;
        return syn_settings_set(set->table, set->options, name, explicit_value ? next : "on");
    }
    if (!has_next) {
        usage_error("--%s needs a value; see %s %s --help", name, typed, self->name);
        return SYN_INVALID;
    }
    *at += 1;
    return syn_settings_set(set->table, set->options, name, argv[*at]);
}

enum syn_status flags_parse(const struct command *self, const struct flag_set *sets, size_t count,
                            int argc, char **argv, struct flags *flags)
{
    for (size_t i = 0; i < count; i++)
        syn_settings_defaults(sets[i].table, sets[i].options);
    return flags_read(self, sets, count, argc, argv, flags);
}

enum syn_status flags_read(const struct command *self, const struct flag_set *sets, size_t count,
                           int argc, char **argv, struct flags *flags)
{
    *flags = (struct flags){0};
    for (int at = 0; at < argc; at++) {
        flags->wants_help = help_asked(argc - at, argv + at);
        if (flags->wants_help != HELP_NONE) {
            flags_help(flags->wants_help, self, sets, count, NULL, 0);
            return SYN_OK;
        }
        if (strncmp(argv[at], "--", 2) == 0) {
            enum syn_status status = read_flag(self, sets, count, argc, argv, &at);
            if (status != SYN_OK)
                return status;
        } else if (flags->word_count < MOST_WORDS) {
            flags->words[flags->word_count++] = argv[at];
        } else {
            usage_error("more than %d arguments", MOST_WORDS);
            return SYN_INVALID;
        }
    }
    return SYN_OK;
}

enum help_form flags_take_help(int *argc, char **argv)
{
    enum help_form form = HELP_NONE;
    int kept = 0;
    for (int at = 0; at < *argc; at++) {
        enum help_form asked = help_asked(*argc - at, argv + at);
        at +=
            asked == HELP_ALL && strcmp(argv[at], "--help=all") != 0; /* "all" is a separate word */
        if (asked == HELP_NONE)
            argv[kept++] = argv[at];
        else
            form = asked;
    }
    *argc = kept;
    return form;
}

void flags_help(enum help_form form, const struct command *self, const struct flag_set *sets,
                size_t count, const char *const *common, size_t common_count)
{
    const struct help help = {typed, self, sets, count, common, common_count};
    help_print(form, &help);
}

/* Underscores count as dashes, as in the tables. */
static bool is_same_name(const char *one, const char *other, size_t length)
{
    for (size_t i = 0; i < length; i++)
        if (one[i] != other[i] && !(one[i] == '_' && other[i] == '-'))
            return false;
    return true;
}

void flags_spell_out(int argc, char **argv, char *output)
{
    for (int i = 0; i < argc; i++)
        if (strcmp(argv[i], "-o") == 0)
            argv[i] = output;
}

bool flags_has(int argc, char **argv, const char *name)
{
    size_t length = strlen(name);
    for (int at = 0; at < argc; at++) {
        const char *flag = argv[at];
        if (strncmp(flag, "--", 2) == 0 && strlen(flag) >= length + 2 &&
            is_same_name(flag + 2, name, length) &&
            (flag[length + 2] == '\0' || flag[length + 2] == '='))
            return true;
    }
    return false;
}

int exit_code(enum syn_status status)
{
    if (status == SYN_OK)
        return EXIT_GOOD;
    bool input = status == SYN_INVALID || status == SYN_UNSUPPORTED || status == SYN_FORMAT;
    return input ? EXIT_USAGE : EXIT_FAILED;
}

enum syn_status refuse_lone_process(int argc, char **argv)
{
    for (int i = 0; i < argc; i++)
        if (strcmp(argv[i], "--workers") == 0 || strncmp(argv[i], "--workers=", 10) == 0)
            return SYN_OK;
    return syn_group_check_alone();
}

void log_to_standard_error(void *unused, enum syn_log_level level, const char *text)
{
    (void)unused;
    fprintf(stderr, "syncopate: %s%s\n", level == SYN_LOG_WARNING ? "warning: " : "", text);
}

int usage_error(const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    fputs("syncopate: ", stderr);
    vfprintf(stderr, format, arguments);
    fputc('\n', stderr);
    va_end(arguments);
    return EXIT_USAGE;
}

/* syncopate list: every available part, from the library's tables. */
#include <stdio.h>

#include <syncopate/parts.h>

#include "command.h"

struct options {
    bool json;
};

static const struct syn_setting rows[] = {
    SYN_SETTING_ROW(struct options, SWITCH, json, "off", 0, 1, NULL,
                    "print one JSON object per line"),
};
static const struct syn_settings_table table = {"List", rows, sizeof rows / sizeof rows[0]};

static void print_kind(size_t kind, const char *name, const char *help, bool as_json)
{
    if (!as_json)
        printf("%s: %s\n", name, help);
    for (size_t i = 0;; i++) {
        struct syn_part_row row = syn_parts_row(kind, i);
        if (!row.name)
            break;
        if (as_json)
            printf("{\"kind\": \"%s\", \"name\": \"%s\", \"help\": \"%s\"}\n", name, row.name,
                   row.help);
        else
            printf("  %-12s %s\n", row.name, row.help);
    }
}

static int run(const struct command *self, int argc, char **argv)
{
    struct options options;
    struct flags flags;
    const struct flag_set sets[] = {{&table, &options}};
    enum syn_status status = flags_parse(self, sets, 1, argc, argv, &flags);
    if (status != SYN_OK || flags.wants_help)
        return exit_code(status);
    if (flags.word_count > 0)
        return usage_error("list takes no argument; got \"%s\"", flags.words[0]);
    const char *help;
    const char *name;
    for (size_t kind = 0; (name = syn_parts_kind(kind, &help)) != NULL; kind++) {
        if (kind > 0 && !options.json)
            printf("\n");
        print_kind(kind, name, help, options.json);
    }
    return EXIT_GOOD;
}

const struct command command_list = {"list", "list every method and part, one per line", "[--json]",
                                     run};

/* What --help prints, from the setting rows: text for people, a manual page, or words for shell
 * completion. */
#ifndef SYN_APP_HELP_H
#define SYN_APP_HELP_H

#include "command.h"

/* The form of help that the first of these words requests: "--help" or "-h", optionally followed by
 * "all", "--help=all", "--help=man" or "--help=words"; HELP_NONE for any other word.
 *   argc  at least 1 */
enum help_form help_asked(int argc, char **argv);

/* What help is printed for. */
struct help {
    const char *prefix; /* what is typed before its name, such as "syncopate bench" */
    const struct command *self;
    const struct flag_set *sets; /* their values are shown as defaults */
    size_t count;
    const char *const *common; /* fields that HELP_TEXT shows, in this order; none: all */
    size_t common_count;
};

void help_print(enum help_form form, const struct help *help);

/* The same for a table of commands. */
void help_print_table(enum help_form form, const char *prefix, const struct command *const *table,
                      size_t count);

#endif

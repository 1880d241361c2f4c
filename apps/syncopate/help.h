/* What --help prints, from the setting rows: text for a person, a manual page, or the words that a
 * shell completes. */
#ifndef SYN_APP_HELP_H
#define SYN_APP_HELP_H

#include "command.h"

/* The form that the first of these words asks for: "--help" or "-h", also with "all" after it,
 * "--help=all", "--help=man" or "--help=words"; HELP_NONE for any other.
 *   argc  at least 1 */
enum help_form help_asked(int argc, char **argv);

/* What there is to say of a command. */
struct help {
    const char *prefix; /* what is typed before its name, such as "syncopate bench" */
    const struct command *self;
    const struct flag_set *sets; /* their values are shown as defaults */
    size_t count;
    const char *const *common; /* fields that HELP_TEXT shows, in this order; none: all */
    size_t common_count;
};

void help_print(enum help_form form, const struct help *help);

/* The same of a table of commands. */
void help_print_table(enum help_form form, const char *prefix, const struct command *const *table,
                      size_t count);

#endif

/* What --help prints, from the setting rows: text for a person, a manual page, or the words that a
 * shell completes. */
#ifndef SYN_APP_HELP_H
#define SYN_APP_HELP_H

#include "command.h"

/* The form that "--help", "-h", "--help=man" or "--help=words" asks for; HELP_NONE for any other
 * word. */
enum help_form help_asked(const char *word);

/* Print what there is to say of a command.
 *   prefix  what is typed before its name, such as "syncopate bench" */
void help_print(enum help_form form, const char *prefix, const struct command *self,
                const struct flag_set *sets, size_t count);

/* The same of a table of commands. */
void help_print_table(enum help_form form, const char *prefix, const struct command *const *table,
                      size_t count);

#endif

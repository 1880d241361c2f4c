/* The interface of a subcommand, and what all share: flags from setting rows, exit codes,
 * errors. */
#ifndef SYN_APP_COMMAND_H
#define SYN_APP_COMMAND_H

#include <stdbool.h>
#include <stddef.h>

#include <syncopate/log.h>
#include <syncopate/settings.h>
#include <syncopate/status.h>

/* Exit codes of every subcommand. */
enum {
    EXIT_GOOD = 0,
    EXIT_FAILED = 1, /* an external failure: a file, a peer, memory */
    EXIT_USAGE = 2   /* invalid input from the user */
};

/* One subcommand: a file ending in its const descriptor, and a row in commands.def (or
 * benches.def). */
struct command {
    const char *name;
    const char *help;  /* one line for the overview */
    const char *usage; /* what follows the name, such as "NAME [--dir D]" */
    int (*run)(const struct command *self, int argc,
               char **argv); /* argv[0] is its first argument */
};

/* Run the command of that name, or list the available ones.
 *   prefix  what was typed before the name, such as "syncopate bench" */
int command_dispatch(const char *prefix, const struct command *const *table, size_t count, int argc,
                     char **argv);

/* Settings that a subcommand accepts: a flag is looked up in each set in turn. */
struct flag_set {
    const struct syn_settings_table *table;
    void *options;
};

#define MOST_WORDS 64

/* The form of help to print instead of running; see help.h. */
enum help_form { HELP_NONE, HELP_TEXT, HELP_ALL, HELP_MAN, HELP_WORDS };

/* The result of parsing the command line. */
struct flags {
    const char *words[MOST_WORDS]; /* the arguments that are not flags, in order */
    size_t word_count;
    enum help_form wants_help; /* not HELP_NONE: it has been printed, exit with EXIT_GOOD */
};

/* Fill every set with its defaults, then read --name value, --name=value, a bare --switch, and
 * --no-switch. Invalid input: one line on standard error and SYN_INVALID. */
enum syn_status flags_parse(const struct command *self, const struct flag_set *sets, size_t count,
                            int argc, char **argv, struct flags *flags);

/* The same, on top of the current values of the sets: for defaults that depend on another flag,
 * such as a recipe's. */
enum syn_status flags_read(const struct command *self, const struct flag_set *sets, size_t count,
                           int argc, char **argv, struct flags *flags);

/* Remove a request for help from the command line, wherever it is: for commands whose defaults
 * depend on other flags, which print help with flags_help() once those are read. */
enum help_form flags_take_help(int *argc, char **argv);

/* Print help, with the values of the sets as defaults.
 *   common  [common_count] the flags that HELP_TEXT shows; if none are given, all */
void flags_help(enum help_form form, const struct command *self, const struct flag_set *sets,
                size_t count, const char *const *common, size_t common_count);

/* Flags have long names only; the exception is -o, which is replaced by this long form. */
void flags_spell_out(int argc, char **argv, char *output);

/* Whether a flag was typed; its name is given with dashes. */
bool flags_has(int argc, char **argv, const char *name);

/* The exit code for a status; EXIT_USAGE for SYN_INVALID, SYN_UNSUPPORTED and SYN_FORMAT. The cause
 * is on standard error already: the library has logged it. */
int exit_code(enum syn_status status);

/* Refuse to run as one of P processes that srun started without MPI, each of which would do all of
 * the work, unless --workers is given and shows that this is intended. */
enum syn_status refuse_lone_process(int argc, char **argv);

/* Print the library's messages on standard error, one line each. */
void log_to_standard_error(void *unused, enum syn_log_level level, const char *text);

/* Print what is wrong with the input on one line and return EXIT_USAGE. */
int usage_error(const char *format, ...) __attribute__((format(printf, 1, 2)));

#endif

/* The command: finds the subcommand's row and runs it. This is the only place that directs library
 * messages to standard error. */
#include <stdio.h>
#include <string.h>

#include <syncopate/group.h>
#include <syncopate/log.h>
#include <syncopate/version.h>

#include "command.h"

#define SYN_PART(name) extern const struct command command_##name;
#include "commands.def"
#ifdef SYNCOPATE_HAS_REPORT
#include "commands_report.def"
#endif
#ifdef SYNCOPATE_HAS_ENGINE
#include "commands_engine.def"
#endif
#undef SYN_PART

static const struct command *const commands[] = {
#define SYN_PART(name) &command_##name,
#include "commands.def"
#ifdef SYNCOPATE_HAS_REPORT
#include "commands_report.def"
#endif
#ifdef SYNCOPATE_HAS_ENGINE
#include "commands_engine.def"
#endif
#undef SYN_PART
};

int main(int argc, char **argv)
{
    if (argc == 2 && strcmp(argv[1], "--version") == 0) {
        printf("syncopate %s\n", syn_version());
        return EXIT_GOOD;
    }
    syn_log_to(log_to_standard_error, NULL, SYN_LOG_INFO);
    int code = command_dispatch("syncopate", commands, sizeof commands / sizeof commands[0],
                                argc - 1, argv + 1);
    if (code == EXIT_USAGE || code == EXIT_FAILED)
        syn_group_end_all(code);
    return code;
}

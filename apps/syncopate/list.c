/* syncopate list: every part there is. */
#include <stdio.h>

#include "command.h"

static int run(const struct command *self, int argc, char **argv)
{
    (void)self;
    (void)argc;
    (void)argv;
    return EXIT_GOOD;
}

const struct command command_list = {"list", "every method and part, one line each", "[--json]",
                                     run};

/* Flags shared by the core's benches. A recipe sets the reducer's options first. */
#ifndef SYN_APP_BENCH_FLAGS_H
#define SYN_APP_BENCH_FLAGS_H

#include <syncopate/reducer.h>

#include "command.h"

struct bench_flags {
    uint64_t n;
    uint64_t repeats;
    uint64_t workers;
    const char *recipe;
    bool json;
    struct syn_reducer_options reducer;
    bool wants_help;
};

/* Read them. Invalid input: one line and SYN_INVALID.
 *   n       the default
 *   recipe  the default; NULL: the one that uses the exchange asked for */
enum syn_status bench_flags_parse(const struct command *self, const char *n, const char *recipe,
                                  int argc, char **argv, struct bench_flags *flags);

#endif

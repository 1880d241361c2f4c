/* syncopate bench: compares a part with its limit, in one run. Each bench is a row of
 * benches.def. */
#include "command.h"

#define SYN_PART(name) extern const struct command command_##name;
#include "benches.def"
#ifdef SYNCOPATE_HAS_ENGINE
#include "benches_engine.def"
#endif
#undef SYN_PART

static const struct command *const benches[] = {
#define SYN_PART(name) &command_##name,
#include "benches.def"
#ifdef SYNCOPATE_HAS_ENGINE
#include "benches_engine.def"
#endif
#undef SYN_PART
};

static int run(const struct command *self, int argc, char **argv)
{
    (void)self;
    return command_dispatch("syncopate bench", benches, sizeof benches / sizeof benches[0], argc,
                            argv);
}

const struct command command_bench = {"bench", "compare the speed or size of a part with its limit",
                                      "WHAT [options]", run};

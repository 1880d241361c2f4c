/* syncopate bench: measures parts against their limit, in one run. A row of benches.def each. */
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

const struct command command_bench = {"bench", "measure a part against its limit", "WHAT [options]",
                                      run};

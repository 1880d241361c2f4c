/* syncopate bench select: compares residual and selection with one fused pass over the same
 * memory. */
#include <stdio.h>

#include <syncopate/measure.h>

#include "bench_flags.h"

static int run(const struct command *self, int argc, char **argv)
{
    struct bench_flags flags;
    struct syn_select_measure got;
    enum syn_status status = bench_flags_parse(self, "25000000", "topk", argc, argv, &flags);
    if (status != SYN_OK || flags.wants_help)
        return exit_code(status);
    status = syn_measure_select(&flags.reducer, (size_t)flags.n, (size_t)flags.repeats, &got);
    if (status != SYN_OK)
        return exit_code(status);
    const char *form =
        flags.json ? "{\"n\": %llu, \"k\": %zu, \"threads\": %llu, \"pass_ms\": %.3f, "
                     "\"pick_ms\": %.3f, \"first_ms\": %.3f, \"ratio\": %.3f}\n"
                   : "%llu floats, %zu picked, %llu threads: one pass %.2f ms, pick %.2f ms, "
                     "first pick %.2f ms, ratio %.2f\n";
    printf(form, (unsigned long long)flags.n, got.picked,
           (unsigned long long)flags.reducer.select_threads, got.pass_ms, got.pick_ms, got.first_ms,
           got.pick_ms / got.pass_ms);
    return EXIT_GOOD;
}

const struct command command_bench_select = {
    "select", "compare residual and selection with one fused pass over memory",
    "[--n N] [--density D] ...", run};

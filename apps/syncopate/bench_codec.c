/* syncopate bench codec: compares the size of coded indices with their entropy, and measures the
 * time. */
#include <stdio.h>

#include <syncopate/measure.h>

#include "bench_flags.h"

static int run(const struct command *self, int argc, char **argv)
{
    struct bench_flags flags;
    struct syn_codec_measure got;
    struct syn_select_measure select;
    enum syn_status status = bench_flags_parse(self, "25000000", "topk", argc, argv, &flags);
    if (status != SYN_OK || flags.wants_help)
        return exit_code(status);
    status = syn_measure_codec(&flags.reducer, (size_t)flags.n, (size_t)flags.repeats, &got);
    if (status == SYN_OK)
        status =
            syn_measure_select(&flags.reducer, (size_t)flags.n, (size_t)flags.repeats, &select);
    if (status != SYN_OK)
        return exit_code(status);
    double both_ms = got.encode_ms + got.decode_ms;
    double millions = (double)got.count / both_ms * 1e-3;
    const char *form =
        flags.json
            ? "{\"n\": %llu, \"k\": %zu, \"values\": \"%s\", \"indices\": \"%s\", \"bytes\": %zu, "
              "\"bits_per_index\": %.4f, \"entropy_bits\": %.4f, \"encode_ms\": %.4f, "
              "\"decode_ms\": %.4f, \"entries_per_s\": %.0fe6, \"select_ms\": %.3f}\n"
            : "%llu floats, %zu entries, values %s, indices %s: %zu bytes, %.3f bits per index "
              "(entropy %.3f), encode %.3f ms, decode %.3f ms, %.0f M entries/s together, "
              "select %.2f ms\n";
    printf(form, (unsigned long long)flags.n, got.count, got.values, got.indices, got.bytes,
           got.bits_per_index, got.entropy_bits, got.encode_ms, got.decode_ms, millions,
           select.pick_ms);
    return EXIT_GOOD;
}

const struct command command_bench_codec = {"codec", "compare coded indices with their entropy",
                                            "[--n N] [--density D] [--values V] ...", run};

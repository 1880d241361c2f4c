/* Measures coding, compared with its limit, the entropy of the choice of indices. */
#include <syncopate/measure.h>

#include <math.h>
#include <stdlib.h>

#include "base/clock.h"
#include "base/memory.h"
#include "codec/codec.h"
#include "inspect/median.h"
#include "inspect/sample.h"
#include "select/select.h"

struct bench {
    struct syn_list list;
    struct syn_list copy;
    struct syn_list decoded;
    uint8_t *packet;
    double *encode_ms;
    double *decode_ms;
};

static void close_bench(struct bench *bench)
{
    syn_list_close(&bench->list);
    syn_list_close(&bench->copy);
    syn_list_close(&bench->decoded);
    free(bench->packet);
    free(bench->encode_ms);
    free(bench->decode_ms);
}

static enum syn_status open_bench(struct bench *bench, size_t count, size_t bound, size_t repeats)
{
    SYN_TRY(syn_list_open(&bench->list, count));
    SYN_TRY(syn_list_open(&bench->copy, count));
    SYN_TRY(syn_list_open(&bench->decoded, count));
    SYN_TRY(syn_allocate(1, bound, &bench->packet));
    SYN_TRY(syn_allocate(repeats, sizeof(double), &bench->encode_ms));
    return syn_allocate(repeats, sizeof(double), &bench->decode_ms);
}

/* log2(size choose count) / count */
static double entropy(size_t size, size_t count)
{
    double n = (double)size;
    double k = (double)count;
    return (lgamma(n + 1) - lgamma(k + 1) - lgamma(n - k + 1)) / (log(2) * k);
}

static enum syn_status time_once(struct bench *bench, const struct syn_reducer_options *options,
                                 const struct syn_packet_about *about, size_t turn,
                                 struct syn_codec_measure *result)
{
    const struct syn_value_type *values = syn_value_find(result->values);
    struct syn_packet_content content;
    syn_list_copy(&bench->copy, &bench->list);
    int64_t began = syn_clock_ns();
    result->bytes = syn_packet_encode(about, values, syn_index_find(options->indices),
                                      (float)options->threshold, &bench->copy, bench->packet);
    int64_t encoded = syn_clock_ns();
    SYN_TRY(syn_packet_decode(about, bench->packet, result->bytes, 0, &bench->decoded, &content));
    bench->encode_ms[turn] = (double)(encoded - began) * 1e-6;
    bench->decode_ms[turn] = (double)(syn_clock_ns() - encoded) * 1e-6;
    size_t rest = result->bytes - SYN_PACKET_HEAD - values->measure(bench->list.count);
    result->bits_per_index = 8.0 * (double)rest / (double)bench->list.count;
    result->indices = content.indices->part.name;
    return SYN_OK;
}

enum syn_status syn_measure_codec(const struct syn_reducer_options *options, size_t size,
                                  size_t repeats, struct syn_codec_measure *result)
{
    if (size == 0 || size > UINT32_MAX || repeats == 0)
        return syn_fail(SYN_INVALID, "nothing to measure: %zu floats, %zu repeats", size, repeats);
    size_t count = syn_select_share(options->density, size);
    result->values = syn_values_chosen(options->values, true);
    size_t bound = syn_packet_bound(syn_value_find(result->values),
                                    syn_index_find(options->indices), count, size);
    struct syn_packet_about about = {.size = (uint32_t)size, .limit = (uint32_t)count};
    struct bench bench = {0};
    struct syn_random random;
    syn_random_start(&random, 1, 0);
    enum syn_status status = open_bench(&bench, count, bound, repeats);
    if (status == SYN_OK)
        syn_sample_list(&random, size, count, &bench.list);
    for (size_t i = 0; i < repeats && status == SYN_OK; i++)
        status = time_once(&bench, options, &about, i, result);
    if (status == SYN_OK) {
        result->count = count;
        result->entropy_bits = entropy(size, count);
        result->encode_ms = syn_median(bench.encode_ms, repeats);
        result->decode_ms = syn_median(bench.decode_ms, repeats);
    }
    close_bench(&bench);
    return status;
}

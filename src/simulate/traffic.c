/* What a worker sends, derived from its options. The sizes are those of src/codec, except for the
 * heads of packets; the work per value is what `syncopate bench` measures. */
#include <syncopate/simulate.h>

#include <math.h>
#include <string.h>

#include "codec/codec.h"
#include "exchange/exchange.h"
#include "schedule/schedule.h"
#include "select/select.h"
#include "simulate/pattern.h"
#include "worker/options.h"
#include "worker/store.h"

#define SELECT_NS 0.6  /* per parameter */
#define MERGE_NS  10.0 /* per list entry */
#define ADD_NS    0.5  /* per value of a dense array */

#define ALL_WORKERS 1e6

/* Bits per index of a sorted list at that density: the entropy, which Rice codes come close to. */
static double bits_per_index(double density)
{
    if (density >= 1)
        return 0;
    return -log2(density) - (1 - density) / density * log2(1 - density);
}

static double bits_per_value(const char *values)
{
    double whole = 1 << 16;
    return 8 * (double)syn_value_find(values)->measure((size_t)whole) / whole;
}

static void describe_list(const struct syn_reducer_options *reducer, double params,
                          struct syn_traffic *traffic)
{
    double entries = fmax(1, floor(reducer->density * params));
    double bits = bits_per_value(reducer->values) + bits_per_index(entries / params);
    traffic->bytes = entries * bits / 8;
    traffic->entries = (size_t)entries;
    /* The result has no more than all workers' entries; the pattern limits it, as it knows the
     * number of workers. */
    const struct syn_exchange_type *exchange = syn_exchange_find(reducer->exchange);
    if (exchange->encodes_portions || exchange->follows_density)
        traffic->pull_bytes = traffic->bytes * (reducer->keep > 0 ? reducer->keep : ALL_WORKERS);
    traffic->select_ms = SELECT_NS * params * 1e-6;
    traffic->merge_ms = MERGE_NS * entries * 1e-6;
}

static void describe_array(const struct syn_reducer_options *reducer, double params,
                           struct syn_traffic *traffic)
{
    traffic->bytes = params * bits_per_value(reducer->values) / 8;
    traffic->select_ms = 0;
    traffic->merge_ms = ADD_NS * params * 1e-6;
}

/* Density auto is treated as 1, in the options' own form; syn_traffic_fit() finds how much fits. */
static void describe_adaptive(const struct syn_reducer_options *reducer, double params,
                              struct syn_traffic *traffic)
{
    bool is_part = reducer->density > 0 && reducer->density < 1;
    if (!is_part) {
        describe_array(reducer, params, traffic);
        return;
    }
    traffic->is_reduced = false;
    describe_list(reducer, params, traffic);
}

static uint64_t pull_every(const struct syn_worker_options *options, bool is_dense, size_t servers)
{
    bool is_replicated = servers == 0 && (!is_dense || !syn_store_find(options->store)->owners);
    bool has_period = syn_schedule_find(options->schedule)->has_period;
    return has_period && !is_replicated ? options->delay : 1;
}

enum syn_status syn_traffic_of(const struct syn_worker_options *options, size_t params,
                               size_t servers, struct syn_traffic *traffic)
{
    struct syn_worker_options resolved = *options;
    double momentum;
    SYN_TRY(syn_worker_resolve(&resolved, servers, &momentum));
    const struct syn_reducer_options *reducer = &resolved.reducer;
    bool is_dense = syn_select_find(reducer->select)->is_dense;
    bool is_async = syn_schedule_find(resolved.schedule)->is_async;
    bool is_local = syn_schedule_find(resolved.schedule)->is_local;
    bool is_delayed =
        is_local ? resolved.outer_late
                 : syn_schedule_find(resolved.schedule)->is_delayed && !resolved.blocking_pull;
    if (params == 0)
        return syn_fail(SYN_INVALID, "the model has 0 parameters; expected at least 1");
    struct syn_traffic made = {
        .pattern = servers ? SYN_PATTERN_SERVERS : reducer->exchange,
        .is_reduced = servers == 0 && syn_exchange_find(reducer->exchange)->is_dense,
        .timing = is_async     ? SYN_TIMING_ASYNC
                  : is_delayed ? SYN_TIMING_DELAYED
                               : SYN_TIMING_SYNC,
        .every = is_local ? resolved.inner_steps : 1,
        .pull_every = pull_every(&resolved, is_dense, servers),
        .pull_bytes = 4 * (double)params,
        .params = params,
    };
    if (syn_exchange_find(reducer->exchange)->follows_density)
        describe_adaptive(reducer, (double)params, &made);
    else if (is_dense)
        describe_array(reducer, (double)params, &made);
    else
        describe_list(reducer, (double)params, &made);
    *traffic = made;
    return SYN_OK;
}

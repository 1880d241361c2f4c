/* Measures an exchange, and compares the bytes sent with the theoretical number. Lists are
 * generated and encoded beforehand, so that only the exchange is timed.
 *
 * Before each exchange every worker sends every other its findings about the previous one. No
 * worker continues before it has received them all, so that this also serves as the starting
 * signal, and at the end all workers have all findings. */
#include <syncopate/measure.h>

#include <stdlib.h>

#include "base/clock.h"
#include "base/memory.h"
#include "exchange/consistency.h"
#include "exchange/exchange.h"
#include "inspect/median.h"
#include "inspect/sample.h"
#include "reducer/options.h"
#include "select/select.h"

/* The measurements of one exchange on one worker. */
struct finding {
    uint64_t ns;
    uint64_t bytes;
    uint64_t packet_bytes;
};

struct bench {
    const struct syn_exchange_type *type;
    struct syn_exchange_setup setup;
    void *state;
    struct syn_contribution in;
    struct syn_outcome out;
    float *gradient;
    uint8_t *packet;
    struct finding *findings;     /* [workers] */
    struct syn_request *requests; /* [2 * workers]: receives, then sends */
    double *worst_ms;             /* [repeats] */
    uint64_t worst_bytes;
    size_t packet_bytes; /* the largest of any worker */
};

static void close_bench(struct bench *bench)
{
    if (bench->state)
        bench->type->close(bench->state);
    free(bench->gradient);
    free(bench->packet);
    free(bench->findings);
    free(bench->requests);
    free(bench->worst_ms);
    free(bench->out.dense);
    free(bench->out.dense_dropped);
    syn_list_close(&bench->in.list);
    syn_list_close(&bench->out.merged);
    syn_list_close(&bench->out.dropped);
}

static enum syn_status open_dense(struct bench *bench, struct syn_random *random)
{
    size_t size = bench->setup.size;
    SYN_TRY(syn_allocate(size, sizeof(float), &bench->gradient));
    SYN_TRY(syn_allocate(size, sizeof(float), &bench->out.dense));
    if (!bench->setup.values->is_exact)
        SYN_TRY(syn_allocate(size, sizeof(float), &bench->out.dense_dropped));
    for (size_t i = 0; i < size; i++)
        bench->gradient[i] = syn_random_normal(random);
    bench->in.dense = bench->gradient;
    return SYN_OK;
}

static enum syn_status open_sparse(struct bench *bench, struct syn_random *random, float scale)
{
    const struct syn_exchange_setup *setup = &bench->setup;
    size_t bound = syn_packet_bound(setup->values, setup->indices, setup->limit, setup->size);
    SYN_TRY(syn_allocate(1, bound, &bench->packet));
    SYN_TRY(syn_list_open(&bench->in.list, setup->limit));
    SYN_TRY(syn_list_open(&bench->out.merged, bench->type->merged_most(setup)));
    SYN_TRY(syn_list_open(&bench->out.dropped, bench->type->dropped_most(setup)));
    syn_sample_list(random, setup->size, setup->limit, &bench->in.list);
    bench->in.packet = bench->packet;
    bench->in.scale = scale;
    bench->in.packet_bytes = syn_packet_encode(&bench->in.about, setup->values, setup->indices,
                                               scale, &bench->in.list, bench->packet);
    return SYN_OK;
}

static enum syn_status open_bench(struct bench *bench, const struct syn_reducer_options *options,
                                  size_t repeats)
{
    const struct syn_exchange_setup *setup = &bench->setup;
    size_t workers = setup->group->workers;
    struct syn_random random;
    syn_random_start(&random, 1, setup->group->rank);
    SYN_TRY(syn_allocate(workers, sizeof *bench->findings, &bench->findings));
    SYN_TRY(syn_allocate(2 * workers, sizeof *bench->requests, &bench->requests));
    SYN_TRY(syn_allocate(repeats, sizeof *bench->worst_ms, &bench->worst_ms));
    bench->in.about =
        (struct syn_packet_about){.size = (uint32_t)setup->size, .limit = (uint32_t)setup->limit};
    if (bench->type->is_dense)
        SYN_TRY(open_dense(bench, &random));
    else
        SYN_TRY(open_sparse(bench, &random, (float)options->threshold));
    return bench->type->open(setup, &bench->state);
}

/* Send all workers this one's finding, and receive theirs. */
static enum syn_status compare_notes(struct bench *bench)
{
    struct syn_group *group = bench->setup.group;
    struct finding *findings = bench->findings;
    enum syn_status status = SYN_OK;
    memset(bench->requests, 0, 2 * group->workers * sizeof *bench->requests);
    for (size_t i = 1; i < group->workers && status == SYN_OK; i++) {
        size_t from = (group->rank + group->workers - i) % group->size;
        status = syn_group_receive(group, from, &findings[from], sizeof *findings,
                                   &bench->requests[from]);
    }
    for (size_t i = 1; i < group->workers && status == SYN_OK; i++) {
        size_t to = (group->rank + i) % group->workers;
        status = syn_group_send(group, to, &findings[group->rank], sizeof *findings,
                                &bench->requests[group->workers + to]);
    }
    if (status != SYN_OK)
        syn_group_abandon(group, status, syn_error_text());
    return syn_group_wait(group, bench->requests, 2 * group->workers);
}

static enum syn_status exchange_once(struct bench *bench)
{
    struct syn_group *group = bench->setup.group;
    uint64_t sent = group->bytes_out;
    int64_t began = syn_clock_ns();
    SYN_TRY(bench->type->run(bench->state, &bench->in, &bench->out));
    bench->findings[group->rank] = (struct finding){
        (uint64_t)(syn_clock_ns() - began), group->bytes_out - sent, bench->in.packet_bytes};
    return SYN_OK;
}

/* The findings of the slowest and of the busiest worker. Returns the slowest time. */
static double worst_of(struct bench *bench)
{
    uint64_t worst_ns = 0;
    for (size_t i = 0; i < bench->setup.group->workers; i++) {
        const struct finding *finding = &bench->findings[i];
        worst_ns = finding->ns > worst_ns ? finding->ns : worst_ns;
        bench->worst_bytes =
            finding->bytes > bench->worst_bytes ? finding->bytes : bench->worst_bytes;
        if (finding->packet_bytes > bench->packet_bytes)
            bench->packet_bytes = (size_t)finding->packet_bytes;
    }
    return (double)worst_ns * 1e-6;
}

/* The first exchange, which also connects the workers, is not counted. */
static enum syn_status measure(struct bench *bench, size_t repeats)
{
    for (size_t i = 0; i <= repeats; i++) {
        SYN_TRY(exchange_once(bench));
        SYN_TRY(compare_notes(bench));
        if (i > 0)
            bench->worst_ms[i - 1] = worst_of(bench);
    }
    return SYN_OK;
}

/* Check that all workers measure the same. */
static enum syn_status check_consistency(struct syn_group *group,
                                         const struct syn_reducer_options *options, size_t size,
                                         size_t repeats)
{
    struct syn_consistency own;
    syn_consistency_begin(&own);
    syn_consistency_add(&own, "n %zu\nrepeats %zu\n", size, repeats);
    syn_consistency_add_settings(&own, &syn_reducer_settings, options);
    return syn_consistency_check(&own, group, group->workers);
}

enum syn_status syn_measure_exchange(struct syn_group *group,
                                     const struct syn_reducer_options *options, size_t size,
                                     size_t repeats, struct syn_exchange_measure *result)
{
    struct syn_reducer_options resolved = *options;
    SYN_TRY(syn_reducer_check(options));
    SYN_TRY(syn_reducer_resolve(&resolved));
    if (size == 0 || size > UINT32_MAX || repeats == 0)
        return syn_fail(SYN_INVALID, "nothing to measure: %zu floats, %zu repeats", size, repeats);
    struct bench bench = {
        .type = syn_exchange_find(resolved.exchange),
        .setup = {.group = group,
                  .size = size,
                  .limit = syn_select_share(options->density, size),
                  .values = syn_value_find(resolved.values),
                  .indices = syn_index_find(options->indices),
                  .putback = syn_reducer_putback(&resolved),
                  .keep = options->keep},
    };
    SYN_TRY(check_consistency(group, &resolved, size, repeats));
    enum syn_status status = open_bench(&bench, options, repeats);
    if (status == SYN_OK)
        status = measure(&bench, repeats);
    if (status == SYN_OK)
        *result = (struct syn_exchange_measure){
            .count = bench.type->is_dense ? size : bench.setup.limit,
            .ms = syn_median(bench.worst_ms, repeats),
            .bytes_max = bench.worst_bytes,
            .bytes_bound = bench.type->theory(&bench.setup, bench.packet_bytes),
        };
    else
        syn_group_abandon(group, status, syn_error_text());
    close_bench(&bench);
    return status;
}

/* Adding up what the workers measured. Sums are exchanged rather than means, so that workers with
 * shares of different sizes are weighted correctly. */
#include "engine/train/metrics/metrics.h"

#include <stdlib.h>

#include "engine/base/clock.h"
#include "engine/base/fail.h"
#include "engine/base/memory.h"

enum syn_status syn_metrics_open(const struct syn_replica *replica, struct syn_metrics *metrics)
{
    metrics->replica = replica;
    metrics->files.hosts = replica->hosts;
    return syn_engine_allocate(replica->options.workers, sizeof *metrics->reports,
                               &metrics->reports);
}

void syn_metrics_close(struct syn_metrics *metrics)
{
    syn_files_close(&metrics->files);
    free(metrics->reports);
}

double syn_metrics_seconds(const struct syn_metrics *metrics)
{
    return (double)(syn_engine_clock_ns() - metrics->began_ns) * 1e-9;
}

enum syn_status syn_metrics_exchange(struct syn_metrics *metrics,
                                     const struct syn_worker_report *own)
{
    return syn_worker_gather(metrics->replica->update.worker, own, sizeof *own, metrics->reports);
}

enum syn_status syn_metrics_all_good(struct syn_metrics *metrics, bool good, bool *all_good)
{
    struct syn_worker_report own = {.is_good = good};
    SYN_TRY(syn_metrics_exchange(metrics, &own));
    *all_good = true;
    for (size_t w = 0; w < metrics->replica->options.workers; w++)
        *all_good = *all_good && metrics->reports[w].is_good != 0;
    return SYN_OK;
}

/* Add up how stale gradients were. */
static void join_staleness(struct syn_cost *sum, const struct syn_cost *more)
{
    double stale = sum->staleness * (double)sum->answers + more->staleness * (double)more->answers;
    sum->answers += more->answers;
    sum->staleness = sum->answers > 0 ? stale / (double)sum->answers : 0;
    if (more->staleness_most > sum->staleness_most)
        sum->staleness_most = more->staleness_most;
}

struct syn_cost syn_metrics_unreported(const struct syn_metrics *metrics)
{
    struct syn_cost total = syn_worker_total_cost(metrics->replica->update.worker);
    const struct syn_cost *before = &metrics->now.before;
    const struct syn_cost *saved = &metrics->now.saved;
    uint64_t answers = total.answers - before->answers;
    double stale =
        total.staleness * (double)total.answers - before->staleness * (double)before->answers;
    struct syn_cost unreported = {
        .bytes_out = total.bytes_out - before->bytes_out + saved->bytes_out,
        .bytes_in = total.bytes_in - before->bytes_in + saved->bytes_in,
        .selected = total.selected - before->selected + saved->selected,
        .taken_back = total.taken_back - before->taken_back + saved->taken_back,
        .select_ms = total.select_ms - before->select_ms + saved->select_ms,
        .encode_ms = total.encode_ms - before->encode_ms + saved->encode_ms,
        .exchange_ms = total.exchange_ms - before->exchange_ms + saved->exchange_ms,
        .wait_ms = total.wait_ms - before->wait_ms + saved->wait_ms,
        .forgotten = total.forgotten - before->forgotten + saved->forgotten,
        .forgotten_mass = total.forgotten_mass - before->forgotten_mass + saved->forgotten_mass,
        .threshold = total.threshold,
        .answers = answers,
        .staleness = answers > 0 ? stale / (double)answers : 0,
        .staleness_most = total.staleness_most,
    };
    join_staleness(&unreported, saved);
    return unreported;
}

/* The worker's cost since the last call. */
static struct syn_cost spend(struct syn_metrics *metrics)
{
    struct syn_cost spent = syn_metrics_unreported(metrics);
    metrics->now.before = syn_worker_total_cost(metrics->replica->update.worker);
    metrics->now.saved = (struct syn_cost){0};
    return spent;
}

/* Bytes and entries are the busiest worker's; times are worker 0's, like those of the sums, so that
 * they add up. */
static void keep_busiest(struct syn_cost *cost, const struct syn_cost *other)
{
    if (other->bytes_out <= cost->bytes_out)
        return;
    cost->bytes_out = other->bytes_out;
    cost->bytes_in = other->bytes_in;
    cost->selected = other->selected;
    cost->taken_back = other->taken_back;
}

enum syn_status syn_metrics_gather(struct syn_metrics *metrics)
{
    struct syn_interval *now = &metrics->now;
    size_t workers = metrics->replica->options.workers;
    struct syn_worker_report own = {.sums = now->sums, .cost = spend(metrics)};
    struct syn_cost answered = {0};
    SYN_TRY(syn_metrics_exchange(metrics, &own));
    now->sums = metrics->reports[0].sums;
    now->cost = metrics->reports[0].cost;
    for (size_t w = 1; w < workers; w++) {
        syn_sums_join(&now->sums, &metrics->reports[w].sums);
        keep_busiest(&now->cost, &metrics->reports[w].cost);
    }
    for (size_t w = 0; w < workers; w++)
        join_staleness(&answered, &metrics->reports[w].cost);
    now->cost.staleness = answered.staleness;
    now->cost.staleness_most = answered.staleness_most;
    join_staleness(&metrics->answered, &answered);
    metrics->bytes_out += (double)now->cost.bytes_out;
    metrics->bytes_in += (double)now->cost.bytes_in;
    syn_sums_extend(&metrics->total, &now->sums);
    return SYN_OK;
}

/* The progress of a run, and its results. */
#include <math.h>
#include <stdio.h>

#include "engine/base/json.h"
#include "engine/train/metrics/metrics.h"

const char *syn_speed_name(bool on_text)
{
    return on_text ? "words_per_s" : "images_per_s";
}

/* The sums of the steps since the last line, or of that line if there were none. */
static const struct syn_sums *recent(const struct syn_metrics *metrics)
{
    return metrics->now.sums.steps > 0 ? &metrics->now.sums : &metrics->last;
}

struct syn_train_progress syn_metrics_progress(const struct syn_metrics *metrics, double evaluated,
                                               double validation_loss)
{
    const struct syn_replica *replica = metrics->replica;
    const struct syn_sums *sums = recent(metrics);
    /* Until the workers meet again, this one is taken as representative of the others. */
    double share = sums == &metrics->now.sums ? (double)replica->options.workers : 1;
    return (struct syn_train_progress){
        .phase = evaluated < 0 ? SYN_TRAIN_LEARNING : SYN_TRAIN_EVALUATING,
        .step = replica->at.step,
        .steps = replica->at.steps,
        .epoch = syn_position_epoch(&replica->at),
        .lr = sums->lr,
        .loss = syn_sums_loss(sums),
        .accuracy = syn_sums_accuracy(sums),
        .examples_per_s = syn_sums_examples_per_s(sums) * share,
        .evaluated = evaluated < 0 ? 0 : evaluated,
        .validation_loss = validation_loss,
        .on_text = replica->on_text,
    };
}

/* What a ring all-reduce of the whole gradient would send per step. */
static double dense_bytes(const struct syn_replica *replica)
{
    double workers = (double)replica->options.workers;
    return 2 * (workers - 1) / workers * 4 * (double)replica->params;
}

static void put_options(const struct syn_replica *replica, struct syn_train_summary *summary)
{
    const struct syn_train_options *options = &replica->options;
    summary->algo = options->algo;
    summary->model = options->model;
    summary->data = syn_data_info(replica->data)->name;
    summary->workers = options->workers;
    summary->servers = options->servers;
    summary->batch = options->batch;
    summary->accumulate = options->accumulate;
    summary->threads = replica->threads;
    summary->params = replica->params;
    summary->on_text = replica->on_text;
    summary->is_first = replica->rank == 0;
    syn_length_find_idle(syn_position_length(&replica->at), options, summary->idle,
                         sizeof summary->idle);
}

struct syn_train_summary syn_metrics_summary(const struct syn_metrics *metrics)
{
    const struct syn_replica *replica = metrics->replica;
    uint64_t steps = replica->at.step;
    double dense = dense_bytes(replica);
    double bytes_out = steps > 0 ? metrics->bytes_out / (double)steps : 0;
    bool has_servers = replica->options.servers > 0;
    struct syn_train_summary summary = {
        .steps = steps,
        .epochs = syn_position_epoch(&replica->at),
        .seconds = syn_metrics_seconds(metrics),
        .ms_per_step = syn_sums_ms_per_step(&metrics->total),
        .examples_per_s = syn_sums_examples_per_s(&metrics->total),
        .train_loss = syn_sums_loss(recent(metrics)),
        .bytes_out_per_step = bytes_out,
        .bytes_in_per_step = steps > 0 ? metrics->bytes_in / (double)steps : 0,
        .ratio_to_dense = bytes_out > 0 && dense > 0 ? dense / bytes_out : (double)NAN,
        .staleness_mean = has_servers ? metrics->answered.staleness : (double)NAN,
        .staleness_max = metrics->answered.staleness_most,
        .weights_hash = syn_replica_hash(replica),
    };
    put_options(replica, &summary);
    snprintf(summary.out, sizeof summary.out, "%s", metrics->files.out);
    return summary;
}

/* Nothing for a data set without a validation part: there the last weights are the result. */
static void put_validation(struct syn_json *json, const struct syn_train_summary *summary)
{
    if (summary->best_step == 0)
        return;
    syn_json_real(json, "validation_loss", summary->validation_loss);
    syn_json_real(json, "validation_perplexity", exp(summary->validation_loss));
    syn_json_count(json, "best_step", summary->best_step);
    syn_json_real(json, "best_epoch", summary->best_epoch);
    syn_json_real(json, "best_validation_perplexity", exp(summary->best_validation_loss));
}

size_t syn_train_summary_json(const struct syn_train_summary *summary, char *text, size_t capacity)
{
    char hex[17];
    struct syn_json json = syn_json_begin(text, capacity);
    snprintf(hex, sizeof hex, "%016llx", (unsigned long long)summary->weights_hash);
    syn_json_text(&json, "algo", summary->algo);
    syn_json_text(&json, "model", summary->model);
    syn_json_text(&json, "data", summary->data);
    syn_json_count(&json, "params", summary->params);
    syn_json_count(&json, "workers", summary->workers);
    syn_json_count(&json, "servers", summary->servers);
    syn_json_count(&json, "threads", summary->threads);
    syn_json_count(&json, "batch", summary->batch);
    syn_json_count(&json, "accumulate", summary->accumulate);
    syn_json_count(&json, "steps", summary->steps);
    syn_json_real(&json, "epochs", summary->epochs);
    syn_json_real(&json, "seconds", summary->seconds);
    syn_json_real(&json, "ms_per_step", summary->ms_per_step);
    syn_json_real(&json, syn_speed_name(summary->on_text), summary->examples_per_s);
    syn_json_real(&json, "train_loss", summary->train_loss);
    syn_json_real(&json, "test_loss", summary->test_loss);
    if (summary->on_text)
        syn_json_real(&json, "test_perplexity", summary->test_perplexity);
    else
        syn_json_real(&json, "test_accuracy", summary->test_accuracy);
    put_validation(&json, summary);
    syn_json_real(&json, "bytes_out_per_step", summary->bytes_out_per_step);
    syn_json_real(&json, "bytes_in_per_step", summary->bytes_in_per_step);
    syn_json_real(&json, "ratio_to_dense", summary->ratio_to_dense);
    if (summary->servers > 0) {
        syn_json_real(&json, "staleness_mean", summary->staleness_mean);
        syn_json_count(&json, "staleness_max", summary->staleness_max);
    }
    syn_json_text(&json, "weights_hash", hex);
    syn_json_flag(&json, "stopped", summary->stopped);
    if (summary->idle[0])
        syn_json_text(&json, "idle", summary->idle);
    syn_json_text(&json, "out", summary->out);
    return syn_json_end(&json);
}

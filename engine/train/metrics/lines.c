/* The lines of metrics.jsonl: one for the steps since the last, one for each evaluation. */
#include <math.h>
#include <string.h>

#include <syncopate/text.h>

#include "engine/base/json.h"
#include "engine/train/metrics/metrics.h"

#define LINE_BYTES 1024

static struct syn_json begin_line(const struct syn_metrics *metrics, char line[LINE_BYTES])
{
    const struct syn_position *at = &metrics->replica->at;
    struct syn_json json = syn_json_begin(line, LINE_BYTES);
    syn_json_count(&json, "step", at->step);
    syn_json_real(&json, "epoch", syn_position_epoch(at));
    syn_json_real(&json, "seconds", syn_metrics_seconds(metrics));
    return json;
}

static void end_line(struct syn_metrics *metrics, struct syn_json *json)
{
    syn_json_end(json);
    if (metrics->replica->rank == 0)
        syn_files_line(&metrics->files, json->text);
}

/* What the exchange cost per step; only if there is an exchange. */
static void put_cost(const struct syn_metrics *metrics, struct syn_json *json)
{
    const struct syn_replica *replica = metrics->replica;
    const struct syn_cost *cost = &metrics->now.cost;
    double steps = (double)metrics->now.sums.steps;
    const float *residual = syn_worker_residual(replica->update.worker);
    if (replica->options.workers == 1 && replica->options.servers == 0 && !residual)
        return;
    syn_json_real(json, "select_ms", cost->select_ms / steps);
    syn_json_real(json, "encode_ms", cost->encode_ms / steps);
    syn_json_real(json, "exchange_ms", cost->exchange_ms / steps);
    syn_json_real(json, "wait_ms", cost->wait_ms / steps);
    syn_json_real(json, "bytes_out", (double)cost->bytes_out / steps);
    syn_json_real(json, "bytes_in", (double)cost->bytes_in / steps);
    syn_json_real(json, "entries", (double)cost->selected / steps);
    syn_json_real(json, "density", (double)cost->selected / steps / (double)replica->params);
    if (replica->options.servers > 0) {
        syn_json_real(json, "staleness_mean", cost->staleness);
        syn_json_count(json, "staleness_max", cost->staleness_most);
    }
    if (!residual)
        return;
    syn_json_real(json, "threshold", cost->threshold);
    syn_json_real(json, "residual_norm", syn_gradient_norm(residual, replica->params));
    if (replica->options.worker.reducer.forget > 0) {
        syn_json_real(json, "forgotten", cost->forgotten);
        syn_json_real(json, "forgotten_mass", cost->forgotten_mass);
    }
}

void syn_metrics_log(struct syn_metrics *metrics)
{
    char line[LINE_BYTES];
    const struct syn_sums *sums = &metrics->now.sums;
    double per_step_ms = 1e-6 / (double)sums->steps;
    struct syn_json json = begin_line(metrics, line);
    syn_json_real(&json, "loss", syn_sums_loss(sums));
    syn_json_real(&json, "accuracy", syn_sums_accuracy(sums));
    syn_json_real(&json, "lr", sums->lr);
    syn_json_real(&json, "gradient_norm", sums->gradient_norm_sum / (double)sums->steps);
    syn_json_real(&json, syn_speed_name(metrics->replica->on_text), syn_sums_examples_per_s(sums));
    syn_json_real(&json, "step_ms", syn_sums_ms_per_step(sums));
    syn_json_real(&json, "data_wait_ms", (double)sums->data_wait_ns * per_step_ms);
    syn_json_real(&json, "compute_ms", (double)sums->compute_ns * per_step_ms);
    syn_json_real(&json, "update_ms", (double)sums->update_ns * per_step_ms);
    put_cost(metrics, &json);
    end_line(metrics, &json);
    metrics->last = metrics->now.sums;
    memset(&metrics->now.sums, 0, sizeof metrics->now.sums);
}

void syn_metrics_log_scores(struct syn_metrics *metrics, const struct syn_scores *scores)
{
    char line[LINE_BYTES];
    struct syn_json json = begin_line(metrics, line);
    double loss = syn_sums_loss(&scores->test);
    if (scores->has_validation) {
        syn_json_real(&json, "validation_loss", syn_sums_loss(&scores->validation));
        syn_json_real(&json, "validation_perplexity", exp(syn_sums_loss(&scores->validation)));
    }
    syn_json_real(&json, "test_loss", loss);
    if (metrics->replica->on_text)
        syn_json_real(&json, "test_perplexity", exp(loss));
    else
        syn_json_real(&json, "test_accuracy", syn_sums_accuracy(&scores->test));
    end_line(metrics, &json);
}

void syn_metrics_log_form(struct syn_metrics *metrics, const struct syn_form *form)
{
    char line[LINE_BYTES];
    char density[32];
    struct syn_json json = begin_line(metrics, line);
    syn_text_print(density, sizeof density, "%.17g", form->density);
    syn_json_text(&json, "form_values", form->values);
    syn_json_value(&json, "form_density", density);
    if (form->compute_ms > 0) {
        syn_json_real(&json, "form_compute_ms", form->compute_ms);
        syn_json_real(&json, "form_exchange_ms", form->exchange_ms);
    }
    end_line(metrics, &json);
}

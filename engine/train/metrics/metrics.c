/* What a run says of itself: to the watcher, to metrics.jsonl, and at the end. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "engine/base/clock.h"
#include "engine/base/fail.h"
#include "engine/base/json.h"
#include "engine/train/loop/loop.h"
#include "engine/train/replica/gradient.h"

#define LINE_BYTES 1024

static double seconds(const struct syn_run *run)
{
    return (double)(syn_engine_clock_ns() - run->began_ns) * 1e-9;
}

uint64_t syn_run_place(const struct syn_run *run)
{
    return (uint64_t)((int64_t)run->step + run->ahead);
}

static double epoch(const struct syn_run *run)
{
    return (double)syn_run_place(run) / (double)run->steps_per_epoch;
}

static const char *speed_name(bool on_text)
{
    return on_text ? "words_per_s" : "images_per_s";
}

static double judged_or_nan(const struct syn_run *run, double value)
{
    return run->judged_step == run->step && run->step > 0 ? value : (double)NAN;
}

void syn_run_tell(struct syn_run *run, double evaluated)
{
    const struct syn_meter *meter = run->lately.steps > 0 ? &run->lately : &run->last;
    /* Until the workers have met again, this one speaks for the others. */
    double share = meter == &run->lately ? (double)run->options.workers : 1;
    struct syn_train_progress progress = {
        .phase = evaluated < 0 ? SYN_TRAIN_LEARNING : SYN_TRAIN_EVALUATING,
        .step = run->step,
        .steps = run->steps,
        .epoch = epoch(run),
        .lr = meter->lr,
        .loss = syn_meter_loss(meter),
        .accuracy = syn_meter_accuracy(meter),
        .examples_per_s = syn_meter_examples_per_s(meter) * share,
        .evaluated = evaluated < 0 ? 0 : evaluated,
        .validation_loss = syn_meter_loss(&run->validated),
        .on_text = run->on_text,
    };
    if (run->watch.tell && !run->watch.tell(run->watch.context, &progress))
        run->wants_stop = true;
}

static struct syn_json begin_line(const struct syn_run *run, char line[LINE_BYTES])
{
    struct syn_json json = syn_json_begin(line, LINE_BYTES);
    syn_json_count(&json, "step", run->step);
    syn_json_real(&json, "epoch", epoch(run));
    syn_json_real(&json, "seconds", seconds(run));
    return json;
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

struct syn_cost syn_run_unreported(const struct syn_run *run)
{
    struct syn_cost total = syn_worker_total_cost(run->update.worker);
    const struct syn_cost *before = &run->cost_before;
    const struct syn_cost *saved = &run->unreported;
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
        .threshold = total.threshold,
        .answers = answers,
        .staleness = answers > 0 ? stale / (double)answers : 0,
        .staleness_most = total.staleness_most,
    };
    join_staleness(&unreported, saved);
    return unreported;
}

/* What the worker has spent since the last time. */
static struct syn_cost spend(struct syn_run *run)
{
    struct syn_cost spent = syn_run_unreported(run);
    run->cost_before = syn_worker_total_cost(run->update.worker);
    run->unreported = (struct syn_cost){0};
    return spent;
}

/* Bytes and entries are the busiest worker's; times stay worker 0's, as the meter's are, so that
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

enum syn_status syn_run_agree(struct syn_run *run)
{
    struct syn_report own = {.meter = run->lately, .cost = spend(run)};
    SYN_TRY(syn_worker_gather(run->update.worker, &own, sizeof own, run->reports));
    struct syn_cost lately_answered = {0};
    run->lately = run->reports[0].meter;
    run->lately_cost = run->reports[0].cost;
    for (size_t w = 1; w < run->options.workers; w++) {
        const struct syn_report *other = &run->reports[w];
        syn_meter_join(&run->lately, &other->meter);
        keep_busiest(&run->lately_cost, &other->cost);
    }
    for (size_t w = 0; w < run->options.workers; w++)
        join_staleness(&lately_answered, &run->reports[w].cost);
    run->lately_cost.staleness = lately_answered.staleness;
    run->lately_cost.staleness_most = lately_answered.staleness_most;
    join_staleness(&run->answered, &lately_answered);
    run->bytes_out += (double)run->lately_cost.bytes_out;
    run->bytes_in += (double)run->lately_cost.bytes_in;
    syn_meter_extend(&run->total, &run->lately);
    return SYN_OK;
}

/* What the exchange cost, a step; only worth telling where there is one. */
static void put_cost(const struct syn_run *run, struct syn_json *json)
{
    const struct syn_cost *cost = &run->lately_cost;
    double steps = (double)run->lately.steps;
    const float *residual = syn_worker_residual(run->update.worker);
    if (run->options.workers == 1 && run->options.servers == 0 && !residual)
        return;
    syn_json_real(json, "select_ms", cost->select_ms / steps);
    syn_json_real(json, "encode_ms", cost->encode_ms / steps);
    syn_json_real(json, "exchange_ms", cost->exchange_ms / steps);
    syn_json_real(json, "wait_ms", cost->wait_ms / steps);
    syn_json_real(json, "bytes_out", (double)cost->bytes_out / steps);
    syn_json_real(json, "bytes_in", (double)cost->bytes_in / steps);
    syn_json_real(json, "entries", (double)cost->selected / steps);
    syn_json_real(json, "density", (double)cost->selected / steps / (double)run->params);
    if (run->options.servers > 0) {
        syn_json_real(json, "staleness_mean", cost->staleness);
        syn_json_count(json, "staleness_max", cost->staleness_most);
    }
    if (!residual)
        return;
    syn_json_real(json, "threshold", cost->threshold);
    syn_json_real(json, "residual_norm", syn_gradient_norm(residual, run->params));
}

void syn_run_log(struct syn_run *run)
{
    char line[LINE_BYTES];
    const struct syn_meter *meter = &run->lately;
    double per_step_ms = 1e-6 / (double)meter->steps;
    struct syn_json json = begin_line(run, line);
    syn_json_real(&json, "loss", syn_meter_loss(meter));
    syn_json_real(&json, "accuracy", syn_meter_accuracy(meter));
    syn_json_real(&json, "lr", meter->lr);
    syn_json_real(&json, "gradient_norm", meter->gradient_norm_sum / (double)meter->steps);
    syn_json_real(&json, speed_name(run->on_text), syn_meter_examples_per_s(meter));
    syn_json_real(&json, "step_ms", syn_meter_ms_per_step(meter));
    syn_json_real(&json, "data_wait_ms", (double)meter->data_wait_ns * per_step_ms);
    syn_json_real(&json, "compute_ms", (double)meter->compute_ns * per_step_ms);
    syn_json_real(&json, "update_ms", (double)meter->update_ns * per_step_ms);
    put_cost(run, &json);
    syn_json_end(&json);
    run->last = run->lately;
    memset(&run->lately, 0, sizeof run->lately);
    if (run->rank == 0)
        syn_files_line(&run->files, line);
}

void syn_run_log_judged(struct syn_run *run)
{
    char line[LINE_BYTES];
    struct syn_json json = begin_line(run, line);
    double loss = syn_meter_loss(&run->judged);
    if (run->validating) {
        syn_json_real(&json, "validation_loss", syn_meter_loss(&run->validated));
        syn_json_real(&json, "validation_perplexity", exp(syn_meter_loss(&run->validated)));
    }
    syn_json_real(&json, "test_loss", loss);
    if (run->on_text)
        syn_json_real(&json, "test_perplexity", exp(loss));
    else
        syn_json_real(&json, "test_accuracy", syn_meter_accuracy(&run->judged));
    syn_json_end(&json);
    if (run->rank == 0)
        syn_files_line(&run->files, line);
}

/* FNV-1a over the weights as 32-bit words: plenty to tell two runs apart. */
uint64_t syn_run_hash(const struct syn_run *run)
{
    uint64_t result = 0xcbf29ce484222325U;
    for (size_t i = 0; i < run->params; i++) {
        uint32_t word;
        memcpy(&word, &run->global[i], sizeof word);
        result = (result ^ word) * 0x100000001b3U;
    }
    return result;
}

struct syn_train_summary syn_run_summary(const struct syn_run *run)
{
    const struct syn_meter *last = run->lately.steps > 0 ? &run->lately : &run->last;
    double loss = syn_meter_loss(&run->judged);
    double workers = (double)run->options.workers;
    double dense = 2 * (workers - 1) / workers * 4 * (double)run->params; /* bytes of a ring */
    double bytes_out = run->step > 0 ? run->bytes_out / (double)run->step : 0;
    struct syn_train_summary summary = {
        .algo = run->options.algo,
        .bytes_out_per_step = bytes_out,
        .bytes_in_per_step = run->step > 0 ? run->bytes_in / (double)run->step : 0,
        .ratio_to_dense = bytes_out > 0 && dense > 0 ? dense / bytes_out : (double)NAN,
        .staleness_mean = run->options.servers > 0 ? run->answered.staleness : (double)NAN,
        .staleness_max = run->answered.staleness_most,
        .model = run->options.model,
        .data = run->options.data.data,
        .params = run->params,
        .workers = run->options.workers,
        .servers = run->options.servers,
        .threads = run->threads,
        .batch = run->options.batch,
        .accumulate = run->options.accumulate,
        .steps = run->step,
        .epochs = epoch(run),
        .seconds = seconds(run),
        .ms_per_step = syn_meter_ms_per_step(&run->total),
        .examples_per_s = syn_meter_examples_per_s(&run->total),
        .train_loss = syn_meter_loss(last),
        .test_loss = judged_or_nan(run, loss),
        .test_accuracy = judged_or_nan(run, syn_meter_accuracy(&run->judged)),
        .test_perplexity = judged_or_nan(run, exp(loss)),
        .validation_loss = judged_or_nan(run, syn_meter_loss(&run->validated)),
        .best_step = run->best.step,
        .best_epoch = run->best.epoch,
        .best_validation_loss = run->best.step > 0 ? run->best.loss : (double)NAN,
        .weights_hash = syn_run_hash(run),
        .on_text = run->on_text,
        .is_first = run->rank == 0,
        .stopped = run->stopped,
    };
    snprintf(summary.out, sizeof summary.out, "%s", run->files.out);
    syn_length_find_idle(syn_run_length(run), &run->options, summary.idle, sizeof summary.idle);
    return summary;
}

/* Nothing for a data set without a validation part, whose last weights are the result. */
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
    syn_json_real(&json, speed_name(summary->on_text), summary->examples_per_s);
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

/* What a run measures and records: sums over steps, what the exchange cost, the lines of
 * metrics.jsonl, the files of the run's directory, the summary at the end. */
#ifndef SYN_ENGINE_TRAIN_METRICS_H
#define SYN_ENGINE_TRAIN_METRICS_H

#include "engine/train/metrics/files.h"
#include "engine/train/metrics/sums.h"
#include "engine/train/replica/replica.h"

/* What workers report when they meet: when a line of metrics.jsonl or a checkpoint is due. */
struct syn_worker_report {
    struct syn_sums sums;
    struct syn_cost cost; /* since the last report */
    uint64_t is_good;     /* this worker succeeded: its part of a checkpoint is on the disk */
};

/* What was measured since the last line of metrics.jsonl. */
struct syn_interval {
    struct syn_sums sums;   /* this worker's; after syn_metrics_gather() everyone's */
    struct syn_cost cost;   /* after that: times of worker 0, bytes of the busiest worker */
    struct syn_cost before; /* the worker's total cost at the last line */
    struct syn_cost saved;  /* its cost since then when the run was saved */
};

struct syn_metrics {
    const struct syn_replica *replica; /* lent */
    struct syn_files files;            /* worker 0's; the others know the directory */
    int64_t began_ns;
    struct syn_interval now;
    struct syn_sums last; /* those of the last line of metrics.jsonl */
    struct syn_sums total;
    double bytes_out; /* of the busiest worker, over the run */
    double bytes_in;
    struct syn_cost answered;          /* of all workers over the run: how stale they were */
    struct syn_worker_report *reports; /* [workers] buffer for everyone's */
};

/* The loss of an evaluation, for lines and summaries. */
struct syn_scores {
    struct syn_sums test;
    struct syn_sums validation;
    bool has_validation;
};

/* Prepare.
 *   replica  built; lent until metrics is closed
 *   metrics  zeroed; close it even after a failure */
enum syn_status syn_metrics_open(const struct syn_replica *replica, struct syn_metrics *metrics);

/* Seconds since the run began, including the time before it was resumed. */
double syn_metrics_seconds(const struct syn_metrics *metrics);

/* Exchange reports; reports[] has everyone's. Collective. */
enum syn_status syn_metrics_exchange(struct syn_metrics *metrics,
                                     const struct syn_worker_report *own);

/* Whether something went well on all workers. Collective. */
enum syn_status syn_metrics_all_good(struct syn_metrics *metrics, bool good, bool *all_good);

/* Add up what all workers measured since the last time; afterwards `now` is the sum of all.
 * Collective. */
enum syn_status syn_metrics_gather(struct syn_metrics *metrics);

/* This worker's cost since the last line of metrics.jsonl. */
struct syn_cost syn_metrics_unreported(const struct syn_metrics *metrics);

/* The name of a run's speed: words or images per second. */
const char *syn_speed_name(bool on_text);

/* Append the line of the last steps to metrics.jsonl and reset the sums. */
void syn_metrics_log(struct syn_metrics *metrics);

/* Append the line of an evaluation. */
void syn_metrics_log_scores(struct syn_metrics *metrics, const struct syn_scores *scores);

/* Append the line of a step, not yet counted, that sends in another form than the previous step. */
void syn_metrics_log_form(struct syn_metrics *metrics, const struct syn_form *form);

/* The progress of the run.
 *   evaluated        share of an evaluation that is done; negative outside of one
 *   validation_loss  of the last one; NAN for none */
struct syn_train_progress syn_metrics_progress(const struct syn_metrics *metrics, double evaluated,
                                               double validation_loss);

/* The results, without evaluations. */
struct syn_train_summary syn_metrics_summary(const struct syn_metrics *metrics);

void syn_metrics_close(struct syn_metrics *metrics);

#endif

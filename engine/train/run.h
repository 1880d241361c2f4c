/* A run while it goes on: all that the loop works with. */
#ifndef SYN_ENGINE_TRAIN_RUN_H
#define SYN_ENGINE_TRAIN_RUN_H

#include <syncopate/engine/train.h>

#include "engine/train/files.h"
#include "engine/train/meter.h"
#include "engine/train/update.h"

struct syn_run {
    struct syn_train_options options;
    struct syn_train_watch watch; /* tell may be NULL */
    struct syn_data *data;
    struct syn_model *model;
    struct syn_loader *learning;
    struct syn_loader *judging; /* NULL if nothing is evaluated */
    struct syn_update update;
    struct syn_files files;
    size_t params;
    float *weights;  /* [params] */
    float *gradient; /* [params] */
    bool on_text;
    uint64_t steps;
    uint64_t steps_per_epoch;
    uint64_t step; /* updates made */
    int64_t began_ns;
    struct syn_meter lately; /* since the last line of metrics.jsonl */
    struct syn_meter last;   /* what the last line of metrics.jsonl says */
    struct syn_meter total;
    struct syn_meter judged; /* the last evaluation */
    uint64_t judged_step;    /* of what weights it was; 0 for none */
    bool stopped;
};

/* Make everything ready for the first step.
 *   run  zeroed; close it even after a failure */
enum syn_status syn_run_open(const struct syn_train_options *options, struct syn_run *run);

/* Go through the test part with the weights as they are, and append a line to metrics.jsonl.
 * Sets stopped, and nothing else, if told to end. */
enum syn_status syn_run_judge(struct syn_run *run);

/* Append the line of an evaluation to metrics.jsonl. */
enum syn_status syn_run_log_judged(struct syn_run *run);

/* Append the line of the last steps to metrics.jsonl and begin to count anew. */
enum syn_status syn_run_log(struct syn_run *run);

/* Tell the watcher how far the run is; sets stopped if it says so.
 *   evaluated  share of an evaluation that is done; negative outside of one */
void syn_run_tell(struct syn_run *run, double evaluated);

/* What came of it. */
struct syn_train_summary syn_run_summary(const struct syn_run *run);

void syn_run_close(struct syn_run *run);

#endif

/* Training a model on a data set: the training loop, its learning rate, its evaluations, and the
 * files it writes.
 *
 *     struct syn_train_options options;
 *     struct syn_train_summary summary;
 *     syn_train_defaults("lenet", &options);
 *     options.epochs = 2;
 *     syn_train(&options, NULL, &summary);
 *     printf("%.2f %%\n", 100 * summary.test_accuracy);
 *
 * The same options on the same machine give bit-identical weights. */
#ifndef SYNCOPATE_ENGINE_TRAIN_H
#define SYNCOPATE_ENGINE_TRAIN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <syncopate/engine/data.h>
#include <syncopate/engine/model.h>
#include <syncopate/recipe.h>
#include <syncopate/settings.h>
#include <syncopate/status.h>
#include <syncopate/worker.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Default warm-ups of a method and a model. Settings that still have these values when a run begins
 * are limited by its length: a warm-up takes at most a tenth of the run, that of the density a
 * fifth. Set a field to 0 here to have its setting used unchanged. */
struct syn_train_usual {
    uint64_t warmup;       /* of worker.warmup */
    double warmup_epochs;  /* of the learning rate */
    double density_warmup; /* in epochs */
};

/* All options of a run. The first fields are the settings of train_options.def, in the table
 * syn_train_settings. */
struct syn_train_options {
#define SYN_SETTING SYN_SETTING_FIELD
#include <syncopate/engine/train_options.def>
#undef SYN_SETTING
    struct syn_data_options data;     /* syn_data_settings */
    struct syn_worker_options worker; /* syn_worker_settings; includes syn_optimizer_settings and
                                       * syn_reducer_settings */
    struct syn_group_options group;   /* syn_group_settings */
    struct syn_train_usual usual;     /* set with the defaults and the method */
    const struct syn_graph *graph;    /* with model own: what to train, instead of a model file; or
                                       * NULL. Lent for the run, as is own_data */
    struct syn_data *own_data;        /* what to train on, instead of a data set by name; or NULL */
    char advice[SYN_TEXT_BYTES];      /* algo auto: the result, for settings.json; set by the run */
};

extern const struct syn_settings_table syn_train_settings;

/* Name of model number i, or NULL past the last: the built-in ones, and own, which is the caller's
 * graph or a model file. */
const char *syn_train_model_name(size_t i);

/* Set a setting of any of the tables, as --NAME VALUE does on the command line. An unknown name or
 * a bad value: SYN_INVALID, options unchanged. */
enum syn_status syn_train_set(struct syn_train_options *options, const char *name,
                              const char *value);

/* Name of method number i, or NULL past the last: the recipes, and auto. */
const char *syn_train_algo_name(size_t i);

/* Name of learning-rate schedule number i, or NULL past the last. */
const char *syn_lr_schedule_name(size_t i);

/* One line about learning-rate schedule number i, or NULL past the last. */
const char *syn_lr_schedule_help(size_t i);

/* The default settings of a model, such as "batch=64 lr=0.05 ..."; NULL for an unknown model. */
const char *syn_train_preset(const char *model);

/* Fill in the defaults of all tables, then those of the model; synthetic data, if chosen later, get
 * the shape that fits it. An unknown model: SYN_INVALID, options unchanged. */
enum syn_status syn_train_defaults(const char *model, struct syn_train_options *options);

/* Overwrite the options that the method options->algo sets; none for auto, where the method is
 * chosen once all workers have connected. */
enum syn_status syn_train_apply_algo(struct syn_train_options *options);

/* Set all the options that a run was started with, from its latest readable checkpoint, and set
 * resume and out to continue it in the same directory. No checkpoint there: SYN_INVALID; none that
 * can be read: SYN_FORMAT; options are then unchanged.
 *   directory  of the run */
enum syn_status syn_train_recall(const char *directory, struct syn_train_options *options);

/* The learning rate of a step.
 *   step             from 0 to steps - 1
 *   steps_per_epoch  more than 0; milestones and warm-up may be given in epochs */
double syn_train_lr(const struct syn_train_options *options, uint64_t step, uint64_t steps,
                    double steps_per_epoch);

enum syn_train_phase { SYN_TRAIN_LEARNING, SYN_TRAIN_EVALUATING };

/* The progress of a run. */
struct syn_train_progress {
    enum syn_train_phase phase;
    uint64_t step;  /* updates made */
    uint64_t steps; /* of the whole run */
    double epoch;
    double lr;
    double loss;            /* mean since the last line of metrics.jsonl */
    double accuracy;        /* over the same interval: share of correct predictions, 0 .. 1 */
    double examples_per_s;  /* over the same interval: images, or words of text */
    double evaluated;       /* share of the evaluation that is done, 0 .. 1 */
    double validation_loss; /* of the last evaluation; NAN: none yet, or no validation part */
    bool on_text;           /* examples are words */
};

/* Called after every step, and after every batch of an evaluation. Returns false to end the run
 * there. */
typedef bool syn_train_on_progress(void *context, const struct syn_train_progress *progress);

/* Returns whether to end at once, even in the middle of a step: the step being computed is given
 * up. Called very often, on the threads of all workers. */
typedef bool syn_train_stops(void *context);

struct syn_train_watch {
    syn_train_on_progress *on_progress; /* may be NULL */
    void *context;
    syn_train_stops *stops; /* may be NULL: no step is given up */
};

/* The results of a run. */
struct syn_train_summary {
    const char *algo;
    const char *model;
    const char *data;
    size_t params;
    uint64_t workers;
    uint64_t servers;
    uint64_t threads;
    uint64_t batch;
    uint64_t accumulate;
    uint64_t steps;
    double epochs;
    double seconds;        /* from the first step to the end, including evaluations */
    double ms_per_step;    /* without evaluations */
    double examples_per_s; /* images, or words of text; without evaluations */
    double train_loss;     /* mean over the last logging interval */
    double test_loss;      /* this and the next two are NAN if there was no evaluation */
    double test_accuracy;  /* 0 .. 1 */
    double test_perplexity;
    double validation_loss; /* of the last evaluation; NAN: no validation part, as for images */
    uint64_t best_step;     /* where validation_loss was lowest or, with keep_best and no validation
                             * part, the test loss; that checkpoint is kept; 0: none */
    double best_epoch;
    double best_validation_loss;
    double bytes_out_per_step; /* of the worker that sent most; likewise bytes_in_per_step */
    double bytes_in_per_step;
    double ratio_to_dense; /* bytes of a ring all-reduce of the whole gradient /
                            * bytes_out_per_step */
    double staleness_mean; /* updates between a gradient and its use; NAN: no servers */
    uint64_t staleness_max;
    uint64_t weights_hash; /* equal for equal weights */
    bool on_text;
    bool is_first;            /* this was worker 0, which reports for all */
    bool stopped;             /* ended before its last step, because on_progress() returned false */
    char out[SYN_TEXT_BYTES]; /* the directory */
    char idle[SYN_TEXT_BYTES]; /* which parts of the method never took effect, in one line; empty:
                                * none */
};

/* Train, blocking until the end.
 *   options  contradictory settings, a model that does not fit the data, an unusable directory, or
 *            settings that contradict the run to resume: SYN_INVALID before anything is written
 *   watch    may be NULL; on_progress is called on this thread
 *   summary  written on success; a run that was asked to stop is a success
 * A loss or gradient that is not finite: SYN_NONFINITE, with the step and the tensor; earlier
 * checkpoints are kept. A checkpoint that cannot be written is logged as a warning, and training
 * continues; if it is the last one, the trained weights are lost: SYN_IO. */
enum syn_status syn_train(const struct syn_train_options *options,
                          const struct syn_train_watch *watch, struct syn_train_summary *summary);

/* The summary as one JSON object, as in summary.json. Writes as snprintf does, and returns the
 * length of the complete text. */
size_t syn_train_summary_json(const struct syn_train_summary *summary, char *text, size_t capacity);

#ifdef __cplusplus
}
#endif
#endif

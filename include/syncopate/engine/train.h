/* Training one model on one data set: the loop, its learning rate, its evaluations, the files it
 * leaves.
 *
 *     struct syn_train_options options;
 *     struct syn_train_summary summary;
 *     syn_train_defaults("lenet", &options);
 *     options.epochs = 2;
 *     syn_train(&options, NULL, &summary);
 *     printf("%.2f %%\n", 100 * summary.test_accuracy);
 *
 * Same options, same machine, same weights, bit for bit. */
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

/* What a method and a model bring by themselves. Settings that still have these values when a run
 * begins follow its length: a warm-up is a tenth of the run at most, the density's a fifth. Set
 * a field to 0 here to have the setting taken as it is. */
struct syn_train_usual {
    uint64_t warmup;       /* of worker.warmup */
    double warmup_epochs;  /* of the learning rate */
    double density_warmup; /* in epochs */
};

/* All that can be chosen. The first fields are the rows of train_options.def, of
 * syn_train_settings. */
struct syn_train_options {
#define SYN_SETTING SYN_SETTING_FIELD
#include <syncopate/engine/train_options.def>
#undef SYN_SETTING
    struct syn_data_options data;     /* syn_data_settings */
    struct syn_worker_options worker; /* syn_worker_settings; in it, syn_optimizer_settings and
                                        * syn_reducer_settings */
    struct syn_group_options group;   /* syn_group_settings */
    struct syn_train_usual usual;     /* set with the defaults and the method */
    const struct syn_graph *graph; /* with model own: what to train, instead of a model file; NULL:
                                       * none. Lent for the run, as own_data is */
    struct syn_data *own_data;     /* what to learn from, instead of a data set by name; or NULL */
    char advice[SYN_TEXT_BYTES];   /* algo auto: what it found, for settings.json; set by it */
};

extern const struct syn_settings_table syn_train_settings;

/* Name of model number i, or NULL past the last: the ready ones, and own, which is the caller's
 * graph or a model file. */
const char *syn_train_model_name(size_t i);

/* Set what one types as --NAME VALUE, of any of the tables. An unknown name or a bad value:
 * SYN_INVALID, options unchanged. */
enum syn_status syn_train_set(struct syn_train_options *options, const char *name,
                              const char *value);

/* Name of method number i, or NULL past the last: the recipes, and auto. */
const char *syn_train_algo_name(size_t i);

/* Name of learning-rate schedule number i, or NULL past the last. */
const char *syn_lr_schedule_name(size_t i);

/* One line about learning-rate schedule number i, or NULL past the last. */
const char *syn_lr_schedule_help(size_t i);

/* What a model is usually trained with, as settings to type: "batch=64 lr=0.05 ..."; NULL for an
 * unknown model. */
const char *syn_train_preset(const char *model);

/* Fill in the defaults of all three tables, then what the model is usually trained with;
 * synthetic data, if they are chosen later, have the form that fits it. An unknown model:
 * SYN_INVALID, options unchanged. */
enum syn_status syn_train_defaults(const char *model, struct syn_train_options *options);

/* Set what the method of options->algo needs, over what options hold; nothing for auto, which is
 * chosen when the workers have met. */
enum syn_status syn_train_apply_algo(struct syn_train_options *options);

/* Set all that a run was started with, from its latest checkpoint that can be read, and to go on
 * with it in the same directory (resume, out). No checkpoint there: SYN_INVALID; none that can be
 * read: SYN_FORMAT; options are unchanged then.
 *   directory  of the run */
enum syn_status syn_train_recall(const char *directory, struct syn_train_options *options);

/* The learning rate of a step.
 *   step             from 0 to steps - 1
 *   steps_per_epoch  more than 0; milestones and warm-up may be given in epochs */
double syn_train_lr(const struct syn_train_options *options, uint64_t step, uint64_t steps,
                    double steps_per_epoch);

enum syn_train_phase { SYN_TRAIN_LEARNING, SYN_TRAIN_EVALUATING };

/* How far a run is. */
struct syn_train_progress {
    enum syn_train_phase phase;
    uint64_t step;  /* updates made */
    uint64_t steps; /* of the whole run */
    double epoch;
    double lr;
    double loss;            /* mean since the last line of metrics.jsonl */
    double accuracy;        /* the same: share of labels that were guessed, 0 .. 1 */
    double examples_per_s;  /* the same: images, or words of text */
    double evaluated;       /* share of the evaluation that is done, 0 .. 1 */
    double validation_loss; /* of the last evaluation; NAN: none yet, or no validation part */
    bool on_text;           /* examples are words */
};

/* Told after every step, and after every batch of an evaluation. Returns false to end the run
 * here. */
typedef bool syn_train_tell(void *context, const struct syn_train_progress *progress);

/* Whether to end at once, in the middle of a step too: the step that is being computed is given up.
 * Asked very often, on the threads of all workers. */
typedef bool syn_train_stops(void *context);

struct syn_train_watch {
    syn_train_tell *tell; /* may be NULL */
    void *context;
    syn_train_stops *stops; /* may be NULL: no step is given up */
};

/* What came of a run. */
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
    double seconds;        /* from the first step to the end, with evaluations */
    double ms_per_step;    /* without evaluations */
    double examples_per_s; /* images, or words of text; without evaluations */
    double train_loss;     /* mean over the last logging interval */
    double test_loss;      /* this and the next two: NAN if there was no evaluation */
    double test_accuracy;  /* 0 .. 1 */
    double test_perplexity;
    double validation_loss; /* of the last evaluation; NAN: no validation part, as for images */
    uint64_t best_step;     /* where it was lowest, or with keep_best and no validation part where
                             * the test loss was: that checkpoint is kept; 0: none */
    double best_epoch;
    double best_validation_loss;
    double bytes_out_per_step; /* of the worker that sent most; likewise in */
    double bytes_in_per_step;
    double ratio_to_dense; /* what a ring all-reduce of the whole gradient would send, over that */
    double staleness_mean; /* updates that came between a gradient and its use; NAN: no servers */
    uint64_t staleness_max;
    uint64_t weights_hash; /* equal for equal weights */
    bool on_text;
    bool is_first;             /* this was worker 0, which speaks for all */
    bool stopped;              /* ended before its last step, because tell() said so */
    char out[SYN_TEXT_BYTES];  /* the directory */
    char idle[SYN_TEXT_BYTES]; /* what of the method never began, in one line; empty: nothing */
};

/* Train, blocking until the end.
 *   options  contradictory settings, a model that does not fit the data, an unusable directory,
 *            settings that contradict the run to resume: SYN_INVALID before anything is written
 *   watch    may be NULL; tell is called on this thread
 *   summary  written on success, and a run that was told to stop is a success
 * A loss or gradient that is not finite: SYN_NONFINITE, with the step and the tensor; earlier
 * checkpoints stay. One that cannot be written is logged as a warning, and training goes on; if it
 * is the last one, the trained weights are lost: SYN_IO. */
enum syn_status syn_train(const struct syn_train_options *options,
                          const struct syn_train_watch *watch, struct syn_train_summary *summary);

/* The summary as one JSON object, as in summary.json. Writes as snprintf does, and returns the
 * length that the whole would have. */
size_t syn_train_summary_json(const struct syn_train_summary *summary, char *text, size_t capacity);

#ifdef __cplusplus
}
#endif
#endif

/* Advice on which method to use: measures the links between the workers and how fast they compute,
 * predicts how long a step of every method would take, and recommends the one that should reach the
 * same accuracy soonest. */
#ifndef SYNCOPATE_ENGINE_ADVISE_H
#define SYNCOPATE_ENGINE_ADVISE_H

#include <stdbool.h>
#include <stddef.h>

#include <syncopate/engine/train.h>
#include <syncopate/measure.h>

#ifdef __cplusplus
extern "C" {
#endif

#define SYN_ADVICE_ROWS 16

/* The prediction for one method. */
struct syn_advice_row {
    char name[32];
    double step_ms;   /* after warm-ups */
    double run_ms;    /* mean step over the run, including warm-ups */
    double even_ms;   /* run_ms scaled to roughly the progress of one ssgd step */
    double bytes_out; /* per worker and step */
    bool is_mix;      /* of two recipes: shown, but algo auto does not choose it */
};

struct syn_advice {
    size_t workers;
    size_t params;
    struct syn_links_measure links;
    double alone_ms;    /* a step of worker 0 without exchange, while the others are idle */
    double compute_ms;  /* the same while all compute: the slowest worker, over several steps */
    double together_ms; /* the same if all wait for the slowest in each step */
    double delayed_ms;  /* as compute_ms, plus the local update of delayed methods; or NaN */
    double sparse_ms;   /* as together_ms, plus what gtopk does besides sending and merging; or NaN:
                         * no such method is possible with these settings */
    size_t count;
    struct syn_advice_row rows[SYN_ADVICE_ROWS];
    size_t best;                  /* the row to use */
    bool is_dense_fine;           /* plain ssgd is as good: compressing or delaying gains nothing */
    bool is_first;                /* this was worker 0, which reports for all */
    char verdict[SYN_TEXT_BYTES]; /* one sentence */
};

/* Only methods are compared that the settings allow and that suit the optimizer: for adamw and
 * lamb, ssgd and diloco.
 *
 * Measure with the workers that syn_train() would start with these options (model, data, batch,
 * threads, density; algo is ignored), and advise. Needs at least two workers. Takes a few
 * seconds. */
enum syn_status syn_advise(const struct syn_train_options *options, struct syn_advice *advice);

/* The advice as one JSON object. Writes as snprintf does, and returns the length of the complete
 * text. */
size_t syn_advice_json(const struct syn_advice *advice, char *text, size_t capacity);

#ifdef __cplusplus
}
#endif
#endif

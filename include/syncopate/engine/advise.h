/* Which method to use, said beforehand: measures the links between the workers and how fast they
 * compute, predicts what a step of every method would take, and advises by the
 * time to the same accuracy. */
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

/* One method, predicted. */
struct syn_advice_row {
    char name[32];
    double step_ms;   /* after warm-ups */
    double run_ms;    /* of a step, the mean over the run, its warm-ups included */
    double even_ms;   /* run_ms for as much progress as a step of ssgd makes, roughly */
    double bytes_out; /* of each worker, per step */
};

struct syn_advice {
    size_t workers;
    size_t params;
    struct syn_links_measure links;
    double alone_ms;    /* a step of worker 0 without exchange, while the others rest */
    double compute_ms;  /* the same while all compute, of the slowest over some steps */
    double together_ms; /* the same if they wait for the slowest in each step */
    double delayed_ms;  /* as compute_ms, with the local update of delayed methods */
    double sparse_ms;   /* as together_ms, with all that gtopk does beside sending and merging */
    size_t count;
    struct syn_advice_row rows[SYN_ADVICE_ROWS];
    size_t best;        /* the row to use */
    bool is_dense_fine; /* plain ssgd is as good: nothing should be compressed or delayed */
    bool is_first;      /* this was worker 0, which speaks for all */
    char verdict[SYN_TEXT_BYTES]; /* one sentence */
};

/* Measure with the workers that syn_train() would start with these options (model, data, batch,
 * threads, density; the algo does not matter), and advise. At least two workers. Takes seconds. */
enum syn_status syn_advise(const struct syn_train_options *options, struct syn_advice *advice);

/* As one JSON object. Writes as snprintf does, and returns the length that the whole would have. */
size_t syn_advice_json(const struct syn_advice *advice, char *text, size_t capacity);

#ifdef __cplusplus
}
#endif
#endif

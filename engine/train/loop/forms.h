/* How much each step sends, if the options do not fix it: recorded when it changes, and read again
 * to repeat a run bit for bit. */
#ifndef SYN_ENGINE_TRAIN_FORMS_H
#define SYN_ENGINE_TRAIN_FORMS_H

#include "engine/train/metrics/metrics.h"

/* One change: from this step on. */
struct syn_form_change {
    uint64_t step;
    double density;
    char values[8];
};

struct syn_forms {
    struct syn_form_change *replayed; /* [count] in the order of steps; NULL: nothing is repeated */
    size_t count;
    struct syn_form_change last; /* the last one recorded */
    bool is_dense_told;
};

/* Read the changes that the options ask to repeat.
 *   forms  zeroed; close it even after a failure */
enum syn_status syn_forms_open(const struct syn_train_options *options, struct syn_forms *forms);
void syn_forms_close(struct syn_forms *forms);

/* Log once what density auto does here. Worker 0 only. */
void syn_forms_announce(const struct syn_replica *replica);

/* Fill in what the next step sends, if a run is repeated. */
void syn_forms_choose(const struct syn_forms *forms, uint64_t step, struct syn_rates *rates);

/* Append a line to metrics.jsonl if the step just made was the first of another form. */
void syn_forms_note(struct syn_forms *forms, struct syn_metrics *metrics);

#endif

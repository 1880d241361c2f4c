/* Local steps with an outer update (DiLoCo). A worker makes H steps of its own, with the options'
 * optimizer on its own gradients; then how far it has come,
 *
 *     d = start - v
 *
 * is contributed instead of a gradient, and the store, whose optimizer has the outer settings,
 * computes new global weights from the sum. All workers begin the next round from them.
 *
 * With an outer step one round late, the sum is exchanged during the next round, while v continues.
 * At the end of that round v = W - d: the global weights that have arrived, and the worker's own
 * progress since then, which is contributed next. So all progress is contributed exactly once. */
#ifndef SYN_WORKER_INNER_H
#define SYN_WORKER_INNER_H

#include <syncopate/worker.h>

struct syn_worker;
struct syn_inner;

/* The worker must have its own weights v. */
enum syn_status syn_inner_open(struct syn_worker *worker, const struct syn_layout *layout,
                               struct syn_inner **inner);

/* One step. */
enum syn_status syn_inner_step(struct syn_worker *worker, const float *gradient,
                               const struct syn_rates *rates);

/* Make further inner steps with other settings and the layout's current rates. */
enum syn_status syn_inner_tune(struct syn_inner *inner, const struct syn_optimizer_options *options,
                               const struct syn_layout *layout);

/* Begin a round from these weights, with the optimizer's memory cleared. */
void syn_inner_restart(struct syn_inner *inner, const float *weights);

/* Sections "inner/...". */
enum syn_status syn_inner_save(const struct syn_inner *inner, struct syn_archive *archive);
enum syn_status syn_inner_load(struct syn_inner *inner, const struct syn_archive *archive);

/* From a run with another number of workers: load the optimizer's memory of one of them. */
enum syn_status syn_inner_load_memory(struct syn_inner *inner, const struct syn_archive *archive);

void syn_inner_close(struct syn_inner *inner);

/* The options that stores are opened with: with schedule local, the store has the outer
 * optimizer. */
struct syn_worker_options syn_inner_store_options(const struct syn_worker_options *resolved);

#endif

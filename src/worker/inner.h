/* Local steps with an outer update (DiLoCo). A worker makes H steps of its own, with the options'
 * optimizer on its own gradients; then how far it has come,
 *
 *     d = start - v
 *
 * is contributed in a gradient's place, and the store, with an optimizer of the outer settings,
 * makes new global weights of the sum. Everyone begins the next round from them.
 *
 * One outer step late, the sum travels during the next round, and v goes on meanwhile. At the end
 * of that round v = W - d: the global weights that have come, and the worker's own way since, which
 * is contributed next. So every part of the way is contributed once. */
#ifndef SYN_WORKER_INNER_H
#define SYN_WORKER_INNER_H

#include <syncopate/worker.h>

struct syn_worker;
struct syn_inner;

/* For a worker that has its own weights v. */
enum syn_status syn_inner_open(struct syn_worker *worker, const struct syn_layout *layout,
                               struct syn_inner **inner);

/* One step. */
enum syn_status syn_inner_step(struct syn_worker *worker, const float *gradient,
                               const struct syn_rates *rates);

/* Make further own steps with other settings, and at the rates that the layout has now. */
enum syn_status syn_inner_tune(struct syn_inner *inner, const struct syn_optimizer_options *options,
                               const struct syn_layout *layout);

/* Begin a round from these weights, with nothing remembered. */
void syn_inner_restart(struct syn_inner *inner, const float *weights);

/* Sections "inner/...". */
enum syn_status syn_inner_save(const struct syn_inner *inner, struct syn_archive *archive);
enum syn_status syn_inner_load(struct syn_inner *inner, const struct syn_archive *archive);

/* Of another number of workers: what the optimizer of one of them remembers. */
enum syn_status syn_inner_load_memory(struct syn_inner *inner, const struct syn_archive *archive);

void syn_inner_close(struct syn_inner *inner);

/* The options that stores are opened with: with schedule local, theirs is the outer optimizer. */
struct syn_worker_options syn_inner_store_options(const struct syn_worker_options *resolved);

#endif

/* Density auto: measures a worker's steps, gathers all workers' measurements, and decides, the same
 * on all, what the next steps send. */
#ifndef SYN_WORKER_FITTING_H
#define SYN_WORKER_FITTING_H

#include <syncopate/archive.h>
#include <syncopate/worker.h>

struct syn_fitting;

/* Open a fitting if the density is auto; otherwise set NULL.
 *   options  resolved */
enum syn_status syn_fitting_open(struct syn_worker *worker, struct syn_fitting **fitting);
void syn_fitting_close(struct syn_fitting *fitting);

/* A step begins: get what was gathered two steps ago, and fill in what this one sends, unless the
 * caller has done so. Harmless without a fitting. Collective. */
enum syn_status syn_fitting_begin(struct syn_worker *worker, struct syn_rates *rates);

/* The step has ended at this cost. Collective. */
void syn_fitting_end(struct syn_worker *worker, const struct syn_cost *cost);

/* Finish the gathering under way, so that there is a state to save; save it, and load it. */
enum syn_status syn_fitting_save(struct syn_worker *worker, struct syn_archive *archive);
enum syn_status syn_fitting_load(struct syn_worker *worker, const struct syn_archive *archive);

#endif

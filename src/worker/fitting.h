/* Density auto: measuring a worker's steps, gathering everyone's figures, and deciding with all
 * what the steps to come send. */
#ifndef SYN_WORKER_FITTING_H
#define SYN_WORKER_FITTING_H

#include <syncopate/archive.h>
#include <syncopate/worker.h>

struct syn_fitting;

/* If the options leave the density open. Sets NULL if they do not.
 *   options  resolved */
enum syn_status syn_fitting_open(struct syn_worker *worker, struct syn_fitting **fitting);
void syn_fitting_close(struct syn_fitting *fitting);

/* A step begins: get what was gathered two steps ago, and fill in what this one sends, unless the
 * caller has. Harmless without a fitting. Collective. */
enum syn_status syn_fitting_begin(struct syn_worker *worker, struct syn_rates *rates);

/* The step has ended, and cost this. Collective. */
void syn_fitting_end(struct syn_worker *worker, const struct syn_cost *cost);

/* Get what is being gathered, so that there is a state to save; save it, take it on. */
enum syn_status syn_fitting_save(struct syn_worker *worker, struct syn_archive *archive);
enum syn_status syn_fitting_load(struct syn_worker *worker, const struct syn_archive *archive);

#endif

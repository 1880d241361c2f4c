/* Recipes: published methods, as named combinations of options. */
#ifndef SYNCOPATE_RECIPE_H
#define SYNCOPATE_RECIPE_H

#include <stddef.h>

#include <syncopate/reducer.h>
#include <syncopate/status.h>
#include <syncopate/worker.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Set the reducer options of the method of that name. Methods that differ only in their delay give
 * the same reducer options. Momentum is not part of a method: in the long run, what is delivered
 * equals what was handed over, unless the caller sets residual_momentum. Other options are left as
 * they are, and any option can be changed afterwards. SYN_INVALID for an unknown name; the cause
 * lists the known ones. */
enum syn_status syn_recipe_apply(const char *name, struct syn_reducer_options *options);

/* The same for a worker: its schedule, optimizers and reducer. The value of the momentum is in the
 * optimizer's options. */
enum syn_status syn_recipe_apply_worker(const char *name, struct syn_worker_options *options);

/* Name and description of recipe number i, or NULL past the last. */
const char *syn_recipe_name(size_t i);
const char *syn_recipe_help(size_t i);

#ifdef __cplusplus
}
#endif
#endif

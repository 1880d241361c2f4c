/* Recipes: the published methods, as named points in the space of all options. */
#ifndef SYNCOPATE_RECIPE_H
#define SYNCOPATE_RECIPE_H

#include <stddef.h>

#include <syncopate/reducer.h>
#include <syncopate/status.h>
#include <syncopate/worker.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Set what the method of that name needs of a reducer: methods that differ in their delay only are
 * the same to it. Momentum is no part of a method: what is delivered is in the long run what was
 * handed over, unless the caller sets residual_momentum. Other options stay, and any can be changed
 * afterwards. SYN_INVALID for an unknown name, with those there are. */
enum syn_status syn_recipe_apply(const char *name, struct syn_reducer_options *options);

/* The same for a worker: its schedule, optimizers and reducer. How large momentum is, the
 * optimizer's options say. */
enum syn_status syn_recipe_apply_worker(const char *name, struct syn_worker_options *options);

/* Name and description of recipe number i, or NULL past the end. */
const char *syn_recipe_name(size_t i);
const char *syn_recipe_help(size_t i);

#ifdef __cplusplus
}
#endif
#endif

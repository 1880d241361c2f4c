/* Strom's method: entries that reach tau are sent to everyone as one sign bit, and the residual is
 * reduced by tau. Tau adapts to reach the requested density. Steps have scale = lr, so that
 * residual and tau are in units of weights. */
#include "recipe/recipe.h"

const struct syn_recipe_type syn_recipe_strom = {
    .part = {"strom", "entries that reach a threshold, sent to everyone as one sign bit each"},
    .settings = {{"residual", "feedback"},
                 {"select", "threshold"},
                 {"threshold_mode", "target"},
                 {"values", "sign"},
                 {"exchange", "allgather"},
                 {"schedule", "sync"},
                 {"momentum_form", "none"},
                 {"send_updates", "on"}},
};

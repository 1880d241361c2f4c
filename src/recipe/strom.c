/* Strom's method: entries that reach tau go to everyone as one sign bit and leave tau behind in the
 * residual. Tau steers itself to the density asked for. Steps are given scale = lr, so that
 * residual and tau are in units of weights. */
#include "recipe/recipe.h"

const struct syn_recipe_type syn_recipe_strom = {
    .part = {"strom", "entries that reach a threshold, as one sign bit each, to everyone"},
    .settings = {{"residual", "feedback"},
                 {"select", "threshold"},
                 {"threshold_mode", "target"},
                 {"values", "sign"},
                 {"exchange", "allgather"},
                 {"schedule", "sync"},
                 {"momentum_form", "none"},
                 {"send_updates", "on"}},
};

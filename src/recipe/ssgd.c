/* Synchronous SGD, the baseline: everything, every step, by ring all-reduce. */
#include "recipe/recipe.h"

const struct syn_recipe_type syn_recipe_ssgd = {
    .part = {"ssgd", "synchronous SGD: the whole gradient, every step, ring all-reduce"},
    .settings = {{"residual", "none"},
                 {"select", "all"},
                 {"values", "f32"},
                 {"exchange", "ring"},
                 {"schedule", "sync"},
                 {"momentum_form", "global"}},
};

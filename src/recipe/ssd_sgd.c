/* Several steps' delay: gradients are sent in every step, weights come back every k-th step, and in
 * between workers follow their own gradient and an estimate of the global one. A delay multiplies
 * the error that compression adds, so lists, if requested, contain a twentieth of the entries
 * instead of a thousandth (docs/results.md). */
#include "recipe/recipe.h"

const struct syn_recipe_type syn_recipe_ssd_sgd = {
    .part = {"ssd-sgd",
             "several steps' delay: weights pulled every k-th step, local updates in between"},
    .settings = {{"residual", "auto"},
                 {"select", "all"},
                 {"density", "0.05"},
                 {"values", "f32"},
                 {"exchange", "ring"},
                 {"schedule", "ssd"},
                 {"delay", "4"},
                 {"warmup", "500"},
                 {"optimizer_local", "glu"},
                 {"momentum_form", "global"}},
};

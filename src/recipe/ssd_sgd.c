/* Several steps' delay: gradients leave at every step, weights come back every k-th, and in between
 * workers follow their own gradient and what they can tell of the global one. A delay multiplies
 * what compression adds to the error, so that lists, if they are asked for, have a twentieth of the
 * entries and not a thousandth (docs/results.md). */
#include "recipe/recipe.h"

const struct syn_recipe_type syn_recipe_ssd_sgd = {
    .part = {"ssd-sgd",
             "several steps' delay: weights pulled every k-th step, local updates between"},
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

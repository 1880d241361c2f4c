/* Several steps' delay: gradients are sent in every step, weights come back every k-th step, and in
 * between workers predict the global weights from their own gradients. The published local update
 * is glu. It takes half of lr / (1 - mu) times a worker's own gradient, five times the step of the
 * global optimizer, so it is unstable at curvatures that momentum SGD tolerates: LeNet diverged
 * with one seed of three. carry is as stable as the optimizer that it imitates. A delay multiplies
 * the error that compression adds, so lists, if requested, contain a twentieth of the entries
 * instead of a thousandth (docs/results.md). */
#include "recipe/recipe.h"

const struct syn_recipe_type syn_recipe_ssd_sgd = {
    .part = {"ssd-sgd",
             "several steps' delay: weights pulled every k-th step, local updates in between"},
    .settings = {{"residual", "auto"},
                 {"select", "all"},
                 {"density", "0.05"},
                 {"values", "auto"},
                 {"exchange", "ring"},
                 {"schedule", "ssd"},
                 {"delay", "4"},
                 {"warmup", "500"},
                 {"optimizer_local", "carry"},
                 {"momentum_form", "global"}},
};

/* DiLoCo: every worker trains on its own for some steps, with any optimizer; then the mean of how
 * far all have come is used as the gradient of an outer step, SGD with Nesterov momentum. */
#include "recipe/recipe.h"

const struct syn_recipe_type syn_recipe_diloco = {
    .part = {"diloco", "local steps, merged every 30 by an outer step with momentum"},
    .settings = {{"residual", "auto"},
                 {"select", "all"},
                 {"values", "f32"},
                 {"exchange", "ring"},
                 {"schedule", "local"},
                 {"inner_steps", "30"},
                 {"outer_lr", "0.7"},
                 {"outer_momentum", "0.9"},
                 {"momentum_form", "global"}},
};

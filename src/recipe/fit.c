/* Our own method: sends as much as the link can carry while the next gradient is computed, one step
 * late. All entries in few bits if they fit, otherwise the largest of them; what is not sent waits
 * in the residual. docs/methods.md has the rule. */
#include "recipe/recipe.h"

const struct syn_recipe_type syn_recipe_fit = {
    .part =
        {"fit",
         "as much as the link carries during the next step: fewer bits first, then fewer entries"},
    .settings = {{"residual", "feedback"},
                 {"select", "all"},
                 {"values", "q4"},
                 {"exchange", "adaptive"},
                 {"density", "auto"},
                 {"schedule", "od"},
                 {"warmup", "200"},
                 {"optimizer_local", "carry"},
                 {"momentum_form", "global"}},
};

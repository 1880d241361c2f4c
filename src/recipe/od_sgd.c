/* One-step delay: synchronous at first, then each step's exchange is overlapped with computing the
 * next gradient. */
#include "recipe/recipe.h"

const struct syn_recipe_type syn_recipe_od_sgd = {
    .part = {"od-sgd", "one-step delay: the whole gradient, exchanged during the next step"},
    .settings = {{"residual", "auto"},
                 {"select", "all"},
                 {"values", "auto"},
                 {"exchange", "ring"},
                 {"schedule", "od"},
                 {"warmup", "200"},
                 {"optimizer_local", "carry"},
                 {"momentum_form", "global"}},
};

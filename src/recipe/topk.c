/* Top-k with error feedback: each worker's k largest entries to everyone. Momentum is the global
 * optimizer's. */
#include "recipe/recipe.h"

const struct syn_recipe_type syn_recipe_topk = {
    .part = {"topk", "every worker's k largest entries, to everyone; the rest waits"},
    .settings = {{"residual", "feedback"},
                 {"select", "topk"},
                 {"values", "f32"},
                 {"exchange", "allgather"},
                 {"schedule", "sync"},
                 {"momentum_form", "global"}},
};

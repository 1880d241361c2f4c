/* Top-k with error feedback: each worker sends its k largest entries to everyone. Momentum, if any,
 * is applied before selection: with momentum in the global optimizer, ResNet-20 ended three points
 * below ssgd (docs/results.md). The density is gtopk's. */
#include "recipe/recipe.h"

const struct syn_recipe_type syn_recipe_topk = {
    .part = {"topk",
             "every worker's k largest entries, sent to everyone; the rest waits in the residual"},
    .settings = {{"residual", "corrected"},
                 {"select", "topk"},
                 {"density", "0.01"},
                 {"values", "auto"},
                 {"exchange", "allgather"},
                 {"schedule", "sync"},
                 {"momentum_form", "corrected"}},
};

/* Top-k with error feedback: each worker's k largest entries to everyone. What momentum the caller
 * asks for is applied before selection: with the global optimizer's, ResNet-20 ended three points
 * below ssgd (docs/results.md). */
#include "recipe/recipe.h"

const struct syn_recipe_type syn_recipe_topk = {
    .part = {"topk", "every worker's k largest entries, to everyone; the rest waits"},
    .settings = {{"residual", "corrected"},
                 {"select", "topk"},
                 {"values", "f32"},
                 {"exchange", "allgather"},
                 {"schedule", "sync"},
                 {"momentum_form", "corrected"}},
};

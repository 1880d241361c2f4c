/* gTop-k: the k largest entries over all workers, found by pairwise merging. Momentum, if any, is
 * applied before selection, and the merging worker then takes back what a merge drops. */
#include "recipe/recipe.h"

const struct syn_recipe_type syn_recipe_gtopk = {
    .part = {"gtopk", "the k largest entries over all workers, merged in log2 P rounds"},
    .settings = {{"residual", "corrected"},
                 {"select", "topk"},
                 {"values", "f32"},
                 {"exchange", "gtopk"},
                 {"schedule", "sync"},
                 {"momentum_form", "corrected"}},
};

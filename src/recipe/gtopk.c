/* gTop-k: the k largest entries over all workers, found by pairwise merging. Momentum, if any, is
 * applied before selection. A hundredth of the entries: with a thousandth, as published, LeNet and
 * ResNet-20 end below ssgd (docs/results.md). Values "auto" are of four bits, to servers f32. */
#include "recipe/recipe.h"

const struct syn_recipe_type syn_recipe_gtopk = {
    .part = {"gtopk", "the k largest entries over all workers, merged in log2 P rounds"},
    .settings = {{"residual", "corrected"},
                 {"select", "topk"},
                 {"density", "0.01"},
                 {"values", "auto"},
                 {"exchange", "gtopk"},
                 {"schedule", "sync"},
                 {"momentum_form", "corrected"}},
};

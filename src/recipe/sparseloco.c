/* SparseLoCo: as DiLoCo, but only the largest entries of how far a worker has come are sent, in two
 * bits each. The rest waits in a residual, part of which is forgotten, since it grows stale; the
 * residual also replaces the outer momentum. Lists are merged by split, which sends the fewest
 * bytes for any number of workers. */
#include "recipe/recipe.h"

const struct syn_recipe_type syn_recipe_sparseloco = {
    .part = {"sparseloco", "as diloco, with the largest 1/64 of the entries in two bits"},
    .settings = {{"residual", "feedback"},
                 {"forget", "0.05"},
                 {"select", "topk"},
                 {"density", "0.015625"},
                 {"values", "q2"},
                 {"exchange", "split"},
                 {"schedule", "local"},
                 {"inner_steps", "30"},
                 {"outer_lr", "1"},
                 {"outer_momentum", "0"},
                 {"momentum_form", "global"}},
};

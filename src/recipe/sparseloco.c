/* SparseLoCo: as DiLoCo, but of how far a worker has come only the largest entries are sent, in two
 * bits each. The rest waits in a residual that forgets, since it grows stale, and does the work of
 * the outer momentum, of which there is none. Lists are merged by split, for any number of workers
 * the fewest bytes. */
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

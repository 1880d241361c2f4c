/* Asynchronous SGD on parameter servers, the other baseline: every gradient is applied at once and
 * in full, not as one of P parts, so that P of them move the weights by P * lr. Stale gradients
 * already act as a momentum of about 1 - 1/P; more momentum makes runs diverge that converge
 * without it. */
#include "recipe/recipe.h"

const struct syn_recipe_type syn_recipe_asgd = {
    .part = {"asgd", "asynchronous SGD: servers apply every gradient at once; not deterministic"},
    .settings = {{"residual", "auto"},
                 {"select", "all"},
                 {"values", "f32"},
                 {"exchange", "ring"},
                 {"schedule", "async"},
                 {"momentum_form", "none"}},
};

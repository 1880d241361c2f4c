/* A recipe: settings by name, as a user would type them. */
#ifndef SYN_RECIPE_RECIPE_H
#define SYN_RECIPE_RECIPE_H

#include <syncopate/recipe.h>

#include "base/status.h"
#include "base/table.h"

#define SYN_RECIPE_SETTINGS 12

struct syn_recipe_type {
    struct syn_part part;
    struct {
        const char *name;
        const char *value;
    } settings[SYN_RECIPE_SETTINGS]; /* ends at the first without a name */
};

const struct syn_recipe_type *syn_recipe_row(size_t i);
const struct syn_recipe_type *syn_recipe_find(const char *name);

#endif

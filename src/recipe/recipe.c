/* The table of recipes. */
#include "recipe/recipe.h"

#include <stdio.h>

#define SYN_PART(name) extern const struct syn_recipe_type syn_recipe_##name;
#include "recipe/recipes.def"
#undef SYN_PART

static const struct syn_recipe_type *const rows[] = {
#define SYN_PART(name) &syn_recipe_##name,
#include "recipe/recipes.def"
#undef SYN_PART
};

SYN_TABLE(recipe, struct syn_recipe_type)

const char *syn_recipe_help(size_t i)
{
    const struct syn_recipe_type *row = syn_recipe_row(i);
    return row ? row->part.help : NULL;
}

static enum syn_status complain(const char *name)
{
    char there[256] = "";
    size_t length = 0;
    for (size_t i = 0; syn_recipe_name(i) && length < sizeof there; i++)
        length += (size_t)snprintf(there + length, sizeof there - length, "%s%s", i ? ", " : "",
                                   syn_recipe_name(i));
    return syn_fail(SYN_INVALID, "no recipe \"%.64s\"; there is %s", name, there);
}

enum syn_status syn_recipe_apply(const char *name, struct syn_reducer_options *options)
{
    const struct syn_recipe_type *recipe = syn_recipe_find(name);
    if (!recipe)
        return complain(name);
    for (size_t i = 0; i < SYN_RECIPE_SETTINGS && recipe->settings[i].name; i++)
        SYN_TRY(syn_settings_set(&syn_reducer_settings, options, recipe->settings[i].name,
                                 recipe->settings[i].value));
    return SYN_OK;
}

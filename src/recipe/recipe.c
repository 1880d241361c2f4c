/* The table of recipes. */
#include "recipe/recipe.h"

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
    return syn_fail_choice("recipe", name, syn_recipe_name);
}

/* Set the recipe's settings that are in the table. */
static enum syn_status set_known(const struct syn_recipe_type *recipe,
                                 const struct syn_settings_table *table, void *options)
{
    for (size_t i = 0; i < SYN_RECIPE_SETTINGS && recipe->settings[i].name; i++)
        if (syn_settings_has(table, recipe->settings[i].name))
            SYN_TRY(syn_settings_set(table, options, recipe->settings[i].name,
                                     recipe->settings[i].value));
    return SYN_OK;
}

enum syn_status syn_recipe_apply(const char *name, struct syn_reducer_options *options)
{
    const struct syn_recipe_type *recipe = syn_recipe_find(name);
    return recipe ? set_known(recipe, &syn_reducer_settings, options) : complain(name);
}

enum syn_status syn_recipe_apply_worker(const char *name, struct syn_worker_options *options)
{
    const struct syn_recipe_type *recipe = syn_recipe_find(name);
    if (!recipe)
        return complain(name);
    SYN_TRY(set_known(recipe, &syn_worker_settings, options));
    return set_known(recipe, &syn_reducer_settings, &options->reducer);
}

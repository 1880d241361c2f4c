/* The table of data sets, and opening one of them. */
#include <syncopate/engine/data.h>

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "engine/base/fail.h"
#include "engine/data/maker.h"
#include "engine/data/pictures.h"

#define SYN_SETTING(...) /* of the parts */
#define SYN_PART(name)   extern const struct syn_data_set syn_data_set_##name;
#include <syncopate/engine/parts/sets.def>
#undef SYN_PART

static const struct syn_data_set *const sets[] = {
#define SYN_PART(name) &syn_data_set_##name,
#include <syncopate/engine/parts/sets.def>
#undef SYN_PART
};
#undef SYN_SETTING

#define SET_COUNT (sizeof sets / sizeof sets[0])

static const struct syn_setting rows[] = {
#define SYN_SETTING(...) SYN_SETTING_ROW(struct syn_data_options, __VA_ARGS__),
#include <syncopate/engine/data_options.def>
#undef SYN_SETTING
};

const struct syn_settings_table syn_data_settings = {"Data", rows, sizeof rows / sizeof rows[0]};

const char *syn_data_name(size_t i)
{
    return i < SET_COUNT ? sets[i]->name : NULL;
}

const char *syn_data_help(size_t i)
{
    return i < SET_COUNT ? sets[i]->help : NULL;
}

void syn_data_defaults(struct syn_data_options *options, const char *name)
{
    syn_settings_defaults(&syn_data_settings, options);
    options->data = name;
}

enum syn_status syn_data_set_find(const char *name, const struct syn_data_set **set)
{
    for (size_t i = 0; i < SET_COUNT; i++) {
        if (strcmp(sets[i]->name, name) == 0) {
            *set = sets[i];
            return SYN_OK;
        }
    }
    /* The setting's row reports the error: the name, and the known names. */
    struct syn_data_options options;
    syn_settings_set(&syn_data_settings, &options, "data", name);
    return SYN_INVALID;
}

enum syn_status syn_data_open(const struct syn_data_options *options, struct syn_data **data)
{
    struct syn_data_options checked = *options;
    const struct syn_data_set *set;
    char directory[SYN_PATH_BYTES];
    SYN_TRY(syn_settings_check(&syn_data_settings, &checked));
    SYN_TRY(syn_data_set_find(checked.data, &set));
    SYN_TRY(syn_data_directory(set, syn_data_root(checked.data_dir), directory));
    struct syn_data *made = calloc(1, sizeof *made);
    if (!made)
        return syn_report(SYN_MEMORY, "cannot allocate a data set");
    made->info.name = set->name;
    enum syn_status status = set->open(&checked, directory, made);
    if (status != SYN_OK) {
        syn_data_close(made);
        return status;
    }
    *data = made;
    return SYN_OK;
}

const struct syn_data_info *syn_data_info(const struct syn_data *data)
{
    return &data->info;
}

void syn_data_close(struct syn_data *data)
{
    if (!data)
        return;
    for (size_t i = 0; i < SYN_DATA_PARTS; i++) {
        free(data->parts[i].labels);
        free(data->parts[i].places);
        free(data->parts[i].targets);
        free(data->parts[i].tokens);
    }
    for (size_t i = 0; i < data->blob_count; i++)
        syn_blob_close(&data->blobs[i]);
    syn_pictures_free(data->pictures);
    syn_maker_free(data->maker);
    free(data->names);
    free(data);
}

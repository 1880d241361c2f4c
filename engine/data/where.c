/* Where the files of a data set are. A user may keep many sets under one root, each in a folder of
 * its name, or name the one folder that holds the files; and a set may be where this machine's
 * package manager installed it. All of these are found without a setting to choose. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "engine/base/fail.h"
#include "engine/data/set.h"

/* Leaves room in SYN_PATH_BYTES for our file names after it. */
#define LONGEST_ROOT 768

const char *syn_data_root(const char *directory)
{
    if (directory && directory[0])
        return directory;
    const char *root = getenv("SYNCOPATE_DATA");
    return root && root[0] ? root : "data";
}

static size_t count_files(const struct syn_data_set *set, const char *directory)
{
    size_t found = 0;
    char path[SYN_PATH_BYTES];
    for (size_t i = 0; i < set->file_count; i++)
        if (syn_path_join(path, directory, set->files[i].name) == SYN_OK && syn_blob_exists(path))
            found++;
    return found;
}

bool syn_data_has_files(const struct syn_data_set *set, const char *directory)
{
    return count_files(set, directory) == set->file_count;
}

static const char *system_folder(const struct syn_data_set *set)
{
    for (size_t i = 0; i < set->source_count; i++)
        if (set->sources[i].way == SYN_SOURCE_FOLDER &&
            syn_data_has_files(set, set->sources[i].from))
            return set->sources[i].from;
    return NULL;
}

enum syn_status syn_data_directory(const struct syn_data_set *set, const char *root,
                                   char directory[SYN_PATH_BYTES])
{
    if (strlen(root) > LONGEST_ROOT)
        return syn_report(SYN_INVALID, "%.64s...: a data directory of more than %d bytes", root,
                          LONGEST_ROOT);
    SYN_TRY(syn_path_join(directory, root, set->name));
    if (syn_path_is_directory(directory))
        return SYN_OK;
    if (set->is_own) {
        snprintf(directory, SYN_PATH_BYTES, "%s", root);
        return SYN_OK;
    }
    const char *elsewhere = count_files(set, root) > 0 ? root : system_folder(set);
    if (elsewhere)
        snprintf(directory, SYN_PATH_BYTES, "%s", elsewhere);
    return SYN_OK;
}

bool syn_data_is_there(const char *name, const char *directory)
{
    const struct syn_data_set *set;
    char where[SYN_PATH_BYTES];
    return syn_data_set_find(name, &set) == SYN_OK && !set->is_own &&
           syn_data_directory(set, syn_data_root(directory), where) == SYN_OK &&
           syn_data_has_files(set, where);
}

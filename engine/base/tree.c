/* Directory trees: one walk, deepest first, that calls a visitor. */
#include "engine/base/tree.h"

#include <dirent.h>
#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "engine/base/fail.h"
#include "engine/base/path.h"

typedef enum syn_status visitor(void *context, const char *path, const struct stat *about);

static enum syn_status walk(const char *path, visitor *visit, void *context);

static bool is_dots(const char *name)
{
    return strcmp(name, ".") == 0 || strcmp(name, "..") == 0;
}

static enum syn_status walk_entries(DIR *folder, const char *path, visitor *visit, void *context)
{
    const struct dirent *entry;
    while ((entry = readdir(folder)) != NULL) {
        char below[SYN_PATH_BYTES];
        if (is_dots(entry->d_name))
            continue;
        SYN_TRY(syn_path_join(below, path, entry->d_name));
        SYN_TRY(walk(below, visit, context));
    }
    return SYN_OK;
}

/* Recursion depth is bounded by the length of a path. */
static enum syn_status walk(const char *path, visitor *visit, void *context)
{
    struct stat about;
    if (lstat(path, &about) != 0)
        return SYN_OK;
    DIR *folder = S_ISDIR(about.st_mode) ? opendir(path) : NULL;
    if (folder) {
        enum syn_status status = walk_entries(folder, path, visit, context);
        closedir(folder);
        SYN_TRY(status);
    }
    return visit(context, path, &about);
}

static enum syn_status add_bytes(void *context, const char *path, const struct stat *about)
{
    (void)path;
    uint64_t *bytes = context;
    if (S_ISREG(about->st_mode))
        *bytes += (uint64_t)about->st_size;
    return SYN_OK;
}

static enum syn_status remove_one(void *context, const char *path, const struct stat *about)
{
    (void)context;
    (void)about;
    if (remove(path) != 0 && errno != ENOENT)
        return syn_report(SYN_IO, "%s: cannot be removed: %s", path, strerror(errno));
    return SYN_OK;
}

uint64_t syn_tree_bytes(const char *path)
{
    uint64_t bytes = 0;
    walk(path, add_bytes, &bytes);
    return bytes;
}

enum syn_status syn_tree_remove(const char *path)
{
    return walk(path, remove_one, NULL);
}

/* Getting a data set. Each source is tried in turn; what it delivers is converted and checked in a
 * folder with a temporary name next to the set's own, and only then renamed into place, file by
 * file. So an interruption leaves either a complete file or none, and the temporary folder, from
 * which the next attempt continues. */
#include "engine/data/get.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "engine/base/fail.h"
#include "engine/base/tree.h"

static enum syn_status lock(struct syn_work *work, const char *name)
{
    char path[SYN_PATH_BYTES];
    struct flock whole = {.l_type = F_WRLCK, .l_whence = SEEK_SET};
    SYN_TRY(syn_path_join(path, work->folder, "lock"));
    work->lock = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0666);
    if (work->lock < 0)
        return syn_report(SYN_IO, "%s: %s", path, strerror(errno));
    if (fcntl(work->lock, F_SETLK, &whole) == 0)
        return SYN_OK;
    close(work->lock);
    return syn_report(SYN_BUSY, "%s: another `syncopate data get %s` is running here", path, name);
}

static enum syn_status begin_work(struct syn_work *work, const char *root, const char *name)
{
    char hidden[64];
    snprintf(hidden, sizeof hidden, ".%s.part", name);
    SYN_TRY(syn_path_join(work->folder, root, hidden));
    SYN_TRY(syn_path_join(work->fetched, work->folder, "fetched"));
    SYN_TRY(syn_path_join(work->package, work->folder, "package"));
    SYN_TRY(syn_path_join(work->unpacked, work->folder, "unpacked"));
    SYN_TRY(syn_path_join(work->ready, work->folder, "ready"));
    SYN_TRY(syn_path_join(work->log, work->folder, "log"));
    SYN_TRY(syn_path_make_directory(work->folder));
    return lock(work, name);
}

/* Clear what cannot be resumed. */
static enum syn_status clear(const struct syn_work *work)
{
    SYN_TRY(syn_tree_remove(work->package));
    SYN_TRY(syn_tree_remove(work->unpacked));
    return syn_tree_remove(work->ready);
}

static void end_work(struct syn_work *work, bool keeps_downloads)
{
    clear(work);
    if (!keeps_downloads || syn_tree_bytes(work->fetched) == 0)
        syn_tree_remove(work->folder);
    close(work->lock);
}

static enum syn_status write_file(const char *path, const struct syn_blob *contents)
{
    FILE *file = fopen(path, "wb");
    if (!file)
        return syn_report(SYN_IO, "%s: %s", path, strerror(errno));
    bool is_written = fwrite(contents->bytes, 1, contents->count, file) == contents->count;
    is_written = fclose(file) == 0 && is_written;
    return is_written ? SYN_OK : syn_report(SYN_IO, "%s: cannot write: %s", path, strerror(errno));
}

enum syn_status syn_get_copy(const struct syn_data_file *files, size_t count, const char *from,
                             const char *to, const struct syn_progress *progress)
{
    for (size_t i = 0; i < count; i++) {
        char source[SYN_PATH_BYTES];
        char target[SYN_PATH_BYTES];
        struct syn_blob contents;
        SYN_TRY(syn_progress_report(progress, "unpacking", i, count));
        SYN_TRY(syn_path_join(source, from, files[i].name));
        SYN_TRY(syn_path_join(target, to, files[i].name));
        SYN_TRY(syn_blob_open(source, &contents));
        enum syn_status status = write_file(target, &contents);
        syn_blob_close(&contents);
        SYN_TRY(status);
    }
    return SYN_OK;
}

static enum syn_status install(const struct syn_data_set *set, const char *from, const char *to)
{
    SYN_TRY(syn_path_make_directory(to));
    for (size_t i = 0; i < set->file_count; i++) {
        char source[SYN_PATH_BYTES];
        char target[SYN_PATH_BYTES];
        SYN_TRY(syn_path_join(source, from, set->files[i].name));
        SYN_TRY(syn_path_join(target, to, set->files[i].name));
        if (rename(source, target) != 0)
            return syn_report(SYN_IO, "%s: cannot move it into place: %s", target, strerror(errno));
    }
    return SYN_OK;
}

/* From one source to the set's directory. */
static enum syn_status try_source(const struct syn_data_set *set,
                                  const struct syn_data_source *source, const struct syn_work *work,
                                  const struct syn_progress *progress, const char *directory)
{
    char folder[SYN_PATH_BYTES];
    SYN_TRY(clear(work));
    SYN_TRY(syn_path_make_directory(work->fetched));
    SYN_TRY(syn_path_make_directory(work->package));
    SYN_TRY(syn_path_make_directory(work->unpacked));
    SYN_TRY(syn_path_make_directory(work->ready));
    SYN_TRY(syn_fetch(set, source, work, progress, folder));
    enum syn_status status =
        set->convert ? set->convert(folder, work->ready, progress)
                     : syn_get_copy(set->files, set->file_count, folder, work->ready, progress);
    if (status == SYN_OK)
        status = syn_get_check(set, work->ready, progress);
    if (status == SYN_OK)
        return install(set, work->ready, directory);
    /* What was fetched is bad: the next source must not resume it. */
    if (status != SYN_STOPPED)
        syn_tree_remove(work->fetched);
    return status;
}

static enum syn_status try_sources(const struct syn_data_set *set, struct syn_work *work,
                                   const struct syn_progress *progress, const char *directory)
{
    for (size_t i = 0; i < set->source_count; i++) {
        enum syn_status status = try_source(set, &set->sources[i], work, progress, directory);
        if (status == SYN_OK || status == SYN_STOPPED) {
            end_work(work, status == SYN_STOPPED);
            return status;
        }
    }
    end_work(work, true);
    return SYN_IO;
}

/* The names of a set's files, as a list for a message. */
static void list_files(const struct syn_data_set *set, char *text, size_t capacity)
{
    size_t length = 0;
    text[0] = '\0';
    for (size_t i = 0; i < set->file_count && length < capacity; i++)
        length += (size_t)snprintf(text + length, capacity - length, "%s%s", i ? ", " : "",
                                   set->files[i].name);
}

/* Whether the set is already there and intact. Stopped meanwhile: SYN_STOPPED. */
static enum syn_status look(const struct syn_data_set *set, const char *directory,
                            const struct syn_progress *progress, bool *is_there)
{
    *is_there = false;
    if (!syn_data_has_files(set, directory))
        return SYN_OK;
    enum syn_status status = syn_get_check(set, directory, progress);
    *is_there = status == SYN_OK;
    if (!*is_there && status != SYN_STOPPED)
        syn_report_log(SYN_LOG_INFO, "%s: fetching it again", set->name);
    return status == SYN_STOPPED ? status : SYN_OK;
}

static enum syn_status refuse(const struct syn_data_set *set, enum syn_status status,
                              const char *directory)
{
    char files[256];
    list_files(set, files, sizeof files);
    return syn_report(status,
                      "%s could not be fetched from any source; to do it by hand, put %s into %s",
                      set->name, files, directory);
}

enum syn_status syn_get_set(const struct syn_data_set *set, const char *root,
                            const struct syn_progress *progress)
{
    struct syn_work work;
    char directory[SYN_PATH_BYTES];
    bool is_there;
    if (set->is_own)
        return syn_report(SYN_INVALID, "%s is data of your own; pass --data-dir to train instead",
                          set->name);
    if (set->file_count == 0) {
        syn_report_log(SYN_LOG_INFO, "%s is generated when it is used; there is nothing to get",
                       set->name);
        return SYN_OK;
    }
    SYN_TRY(syn_path_join(directory, root, set->name));
    SYN_TRY(look(set, directory, progress, &is_there));
    if (is_there) {
        syn_report_log(SYN_LOG_INFO, "%s is already in %s", set->name, directory);
        return SYN_OK;
    }
    if (set->source_count == 0)
        return refuse(set, SYN_INVALID, directory);
    SYN_TRY(begin_work(&work, root, set->name));
    enum syn_status status = try_sources(set, &work, progress, directory);
    if (status == SYN_OK)
        syn_report_log(SYN_LOG_INFO, "%s is in %s, checked", set->name, directory);
    return status == SYN_IO ? refuse(set, status, directory) : status;
}

enum syn_status syn_data_get(const char *name, const char *directory, syn_data_progress *progress,
                             void *context)
{
    const struct syn_progress listener = {progress, context};
    const struct syn_data_set *set;
    SYN_TRY(syn_data_set_find(name, &set));
    return syn_get_set(set, syn_data_root(directory), &listener);
}

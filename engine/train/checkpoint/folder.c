/* The folders of checkpoints. Every worker writes its own part into DIR/checkpoints/step-N.part,
 * whether workers share one file system or have one each; when all parts are on the disk, the
 * folder gets its final name. So a folder with a final name is complete. With several file systems
 * the rename may have happened on some only; therefore resuming asks all workers what they have.
 *
 * A folder of that step may already exist, if it could not be read or was left behind by a resumed
 * run: it becomes the .part to write into. */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include "engine/base/fail.h"
#include "engine/base/path.h"
#include "engine/base/tree.h"
#include "engine/train/checkpoint/parts.h"

/* DIR/checkpoints/step-N followed by the given ending. */
static enum syn_status join(char path[SYN_CHECKPOINT_PATH], const char *directory, uint64_t step,
                            const char *ending)
{
    int length = snprintf(path, SYN_CHECKPOINT_PATH, "%s/%s/step-%" PRIu64 "%s", directory,
                          SYN_CHECKPOINT_FOLDER, step, ending);
    if (length < SYN_CHECKPOINT_PATH)
        return SYN_OK;
    return syn_report(SYN_INVALID, "out: path too long: %.64s...", directory);
}

enum syn_status syn_checkpoint_path(const char *directory, uint64_t step, size_t rank,
                                    char path[SYN_CHECKPOINT_PATH])
{
    char ending[48];
    snprintf(ending, sizeof ending, "/worker-%zu.syn", rank);
    return join(path, directory, step, ending);
}

static enum syn_status part_path(const char *directory, uint64_t step, size_t rank,
                                 char path[SYN_CHECKPOINT_PATH])
{
    char ending[48];
    snprintf(ending, sizeof ending, ".part/worker-%zu.syn", rank);
    return join(path, directory, step, ending);
}

/* The number in a name such as step-20, with nothing after the number. */
static bool read_number(const char *name, const char *before, const char *after, uint64_t *number)
{
    char *end;
    size_t length = strlen(before);
    if (strncmp(name, before, length) != 0 || name[length] < '0' || name[length] > '9')
        return false;
    errno = 0;
    *number = strtoull(name + length, &end, 10);
    return errno == 0 && strcmp(end, after) == 0;
}

/* Insert a step into the sorted list, dropping the earliest if it is full. */
static void insert(uint64_t steps[SYN_CHECKPOINTS_MOST], size_t *count, uint64_t step)
{
    size_t at = *count;
    while (at > 0 && steps[at - 1] < step)
        at--;
    if (at == SYN_CHECKPOINTS_MOST)
        return;
    size_t last = *count < SYN_CHECKPOINTS_MOST ? *count : SYN_CHECKPOINTS_MOST - 1;
    memmove(&steps[at + 1], &steps[at], (last - at) * sizeof *steps);
    steps[at] = step;
    *count = last + 1;
}

static DIR *open_folder(const char *directory)
{
    char path[SYN_CHECKPOINT_PATH];
    int length = snprintf(path, sizeof path, "%s/%s", directory, SYN_CHECKPOINT_FOLDER);
    return length < SYN_CHECKPOINT_PATH ? opendir(path) : NULL;
}

size_t syn_checkpoint_list(const char *directory, uint64_t steps[SYN_CHECKPOINTS_MOST])
{
    size_t count = 0;
    uint64_t step;
    const struct dirent *entry;
    DIR *folder = open_folder(directory);
    while (folder && (entry = readdir(folder)) != NULL)
        if (read_number(entry->d_name, "step-", "", &step))
            insert(steps, &count, step);
    if (folder)
        closedir(folder);
    return count;
}

/* The lowest rank with a part in a folder; UINT64_MAX if there is none. */
static uint64_t lowest_rank(const char *path)
{
    uint64_t rank;
    uint64_t lowest = UINT64_MAX;
    const struct dirent *entry;
    DIR *folder = opendir(path);
    while (folder && (entry = readdir(folder)) != NULL)
        if (read_number(entry->d_name, "worker-", ".syn", &rank) && rank < lowest)
            lowest = rank;
    if (folder)
        closedir(folder);
    return lowest;
}

enum syn_status syn_checkpoint_find_part(const char *directory, uint64_t step,
                                         char path[SYN_CHECKPOINT_PATH])
{
    SYN_TRY(join(path, directory, step, ""));
    uint64_t lowest = lowest_rank(path);
    if (lowest == UINT64_MAX)
        return syn_report(SYN_FORMAT, "%s: contains no worker's state", path);
    return syn_checkpoint_path(directory, step, (size_t)lowest, path);
}

enum syn_status syn_checkpoint_load_part(const char *path, struct syn_archive **archive)
{
    *archive = NULL;
    int file = open(path, O_RDONLY);
    if (file < 0 && (errno == ENOENT || errno == ENOTDIR))
        return SYN_OK;
    if (file < 0)
        return syn_report(SYN_IO, "cannot open %s: %s", path, strerror(errno));
    enum syn_status status = syn_archive_read(file, path, archive);
    close(file);
    return status;
}

enum syn_status syn_checkpoint_load_any(const char *directory, uint64_t step,
                                        char path[SYN_CHECKPOINT_PATH],
                                        struct syn_archive **archive)
{
    *archive = NULL;
    SYN_TRY(join(path, directory, step, ""));
    uint64_t lowest = lowest_rank(path);
    if (lowest == UINT64_MAX)
        return SYN_OK;
    SYN_TRY(syn_checkpoint_path(directory, step, (size_t)lowest, path));
    return syn_checkpoint_load_part(path, archive);
}

bool syn_checkpoint_has_moved(const char *directory, uint64_t latest)
{
    uint64_t steps[SYN_CHECKPOINTS_MOST];
    return syn_checkpoint_list(directory, steps) == 0 || steps[0] != latest;
}

/* Best effort: the rename is atomic even if the file system cannot sync. */
static void sync_folder(const char *path)
{
    int file = open(path, O_RDONLY | O_DIRECTORY);
    if (file < 0)
        return;
    fsync(file);
    close(file);
}

/* Remove parts of a run with more workers from a folder that is written again; each worker removes
 * those whose rank is its own modulo the number of workers. */
static void remove_surplus(const char *directory, uint64_t step, size_t rank, size_t workers)
{
    char path[SYN_CHECKPOINT_PATH];
    for (size_t old = rank + workers; part_path(directory, step, old, path) == SYN_OK;
         old += workers)
        if (unlink(path) != 0)
            return;
}

enum syn_status syn_checkpoint_put(const char *directory, uint64_t step, size_t rank,
                                   size_t workers, const struct syn_archive *archive)
{
    char path[SYN_CHECKPOINT_PATH];
    char part[SYN_CHECKPOINT_PATH];
    SYN_TRY(join(path, directory, step, ""));
    SYN_TRY(join(part, directory, step, ".part"));
    if (rename(path, part) != 0)
        SYN_TRY(syn_path_make_directory(part));
    remove_surplus(directory, step, rank, workers);
    SYN_TRY(part_path(directory, step, rank, path));
    if (!syn_path_is_file(path))
        SYN_TRY(syn_tree_remove(path)); /* a folder there, which rename() cannot replace */
    return syn_archive_save(archive, path);
}

enum syn_status syn_checkpoint_publish(const char *directory, uint64_t step, bool *mine)
{
    char path[SYN_CHECKPOINT_PATH];
    char part[SYN_CHECKPOINT_PATH];
    SYN_TRY(join(path, directory, step, ""));
    SYN_TRY(join(part, directory, step, ".part"));
    *mine = rename(part, path) == 0;
    if (!*mine && !(errno == ENOENT && syn_path_is_directory(path)))
        return syn_report(SYN_IO, "cannot rename %s: %s", part, strerror(errno));
    snprintf(part, sizeof part, "%.*s", (int)(strrchr(path, '/') - path), path);
    sync_folder(part);
    return SYN_OK;
}

void syn_checkpoint_discard(const char *directory, uint64_t step, size_t rank)
{
    char path[SYN_CHECKPOINT_PATH];
    if (part_path(directory, step, rank, path) == SYN_OK)
        unlink(path);
    if (join(path, directory, step, ".part") == SYN_OK)
        rmdir(path); /* the last one succeeds */
}

/* Under its final name a folder is complete, also while it is being removed. */
static void remove_step(const char *directory, uint64_t step)
{
    char path[SYN_CHECKPOINT_PATH];
    char part[SYN_CHECKPOINT_PATH];
    if (join(path, directory, step, "") != SYN_OK || join(part, directory, step, ".part") != SYN_OK)
        return;
    syn_tree_remove(rename(path, part) == 0 ? part : path);
}

void syn_checkpoint_prune(const char *directory, uint64_t step, uint64_t best)
{
    uint64_t steps[SYN_CHECKPOINTS_MOST];
    size_t count = syn_checkpoint_list(directory, steps);
    size_t kept = 0;
    for (size_t i = 0; i < count; i++) {
        if (steps[i] <= step && kept < SYN_CHECKPOINTS_KEPT)
            kept++;
        else if (steps[i] > step || best == 0 || steps[i] != best)
            remove_step(directory, steps[i]);
    }
}

void syn_checkpoint_clear_parts(const char *directory)
{
    uint64_t step;
    const struct dirent *entry;
    char path[SYN_CHECKPOINT_PATH];
    DIR *folder = open_folder(directory);
    while (folder && (entry = readdir(folder)) != NULL)
        if (read_number(entry->d_name, "step-", ".part", &step) &&
            join(path, directory, step, ".part") == SYN_OK)
            syn_tree_remove(path);
    if (folder)
        closedir(folder);
}

/* Checks the closest existing parent directory. */
enum syn_status syn_checkpoint_check_room(const char *directory, double bytes, size_t kept)
{
    char path[SYN_CHECKPOINT_PATH];
    uint64_t steps[SYN_CHECKPOINTS_MOST];
    struct statvfs about;
    size_t there = syn_checkpoint_list(directory[0] ? directory : ".", steps);
    size_t to_come = 1 + kept - (there < kept ? there : kept);
    snprintf(path, sizeof path, "%s", directory[0] ? directory : ".");
    while (!syn_path_is_directory(path)) {
        char *slash = strrchr(path, '/');
        snprintf(slash && slash != path ? slash : path, 2, "%s",
                 slash && slash != path ? ""
                 : slash                ? "/"
                                        : ".");
    }
    if (statvfs(path, &about) != 0)
        return SYN_OK; /* unknown; writing will fail if there is no room */
    double room = (double)about.f_bavail * (double)about.f_frsize;
    if (room >= bytes * (double)to_come)
        return SYN_OK;
    return syn_report(SYN_IO,
                      "out: only %.1f MB free in %s; up to %zu checkpoints of about %.1f MB each "
                      "exist at once",
                      room / 1e6, path, kept + 1, bytes / 1e6);
}

/* Archives on disk. A file is written under a temporary name, synced, and renamed over the old one;
 * then the directory is synced, so that the new name survives a crash too. */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/archive.h"

static enum syn_status fail_io(const char *doing, const char *path)
{
    return syn_fail(SYN_IO, "cannot %s %s: %s", doing, path, strerror(errno));
}

static enum syn_status write_all(int file, const uint8_t *at, size_t left, const char *path)
{
    while (left > 0) {
        ssize_t wrote = write(file, at, left);
        if (wrote < 0 && errno == EINTR)
            continue;
        if (wrote < 0)
            return fail_io("write", path);
        at += wrote;
        left -= (size_t)wrote;
    }
    return fsync(file) == 0 ? SYN_OK : fail_io("sync", path);
}

static void sync_directory_of(const char *path)
{
    char directory[PATH_MAX];
    snprintf(directory, sizeof directory, "%s", path);
    char *slash = strrchr(directory, '/');
    if (slash)
        *slash = '\0';
    int file = open(slash ? directory : ".", O_RDONLY);
    if (file >= 0) {
        fsync(file); /* even if the file system cannot do this, the rename is atomic */
        close(file);
    }
}

static enum syn_status write_file(const char *path, const uint8_t *bytes, size_t count)
{
    int file = open(path, O_WRONLY | O_CREAT | O_TRUNC, 0666);
    if (file < 0)
        return fail_io("create", path);
    enum syn_status status = write_all(file, bytes, count, path);
    if (close(file) != 0 && status == SYN_OK)
        status = fail_io("close", path);
    return status;
}

enum syn_status syn_archive_save(const struct syn_archive *archive, const char *path)
{
    char temporary[PATH_MAX];
    if (strlen(path) + 5 > sizeof temporary)
        return syn_fail(SYN_INVALID, "path of %zu bytes; expected at most %zu", strlen(path),
                        sizeof temporary - 5);
    snprintf(temporary, sizeof temporary, "%s.tmp", path);
    size_t count = syn_archive_bytes(archive);
    uint8_t *bytes = malloc(count);
    if (!bytes)
        return syn_fail(SYN_MEMORY, "cannot allocate %zu bytes to write %s", count, path);
    syn_archive_write(archive, bytes);
    enum syn_status status = write_file(temporary, bytes, count);
    free(bytes);
    if (status == SYN_OK && rename(temporary, path) != 0)
        status = fail_io("rename to", path);
    if (status != SYN_OK)
        unlink(temporary);
    else
        sync_directory_of(path);
    return status;
}

static enum syn_status read_all(int file, uint8_t *at, size_t left, const char *path)
{
    while (left > 0) {
        ssize_t came = read(file, at, left);
        if (came < 0 && errno == EINTR)
            continue;
        if (came < 0)
            return fail_io("read", path);
        if (came == 0)
            return syn_fail(SYN_FORMAT, "%s became shorter while it was being read", path);
        at += came;
        left -= (size_t)came;
    }
    return SYN_OK;
}

enum syn_status syn_archive_read(int file, const char *origin, struct syn_archive **archive)
{
    struct stat about;
    if (fstat(file, &about) != 0)
        return fail_io("read", origin);
    if (!S_ISREG(about.st_mode))
        return syn_fail(SYN_FORMAT, "%s is not a regular file", origin);
    size_t count = (size_t)about.st_size;
    uint8_t *bytes = malloc(count + 1);
    if (!bytes)
        return syn_fail(SYN_MEMORY, "cannot allocate %zu bytes to read %s", count, origin);
    enum syn_status status = read_all(file, bytes, count, origin);
    if (status == SYN_OK)
        status = syn_archive_parse(bytes, count, origin, archive);
    free(bytes);
    return status;
}

enum syn_status syn_archive_load(const char *path, struct syn_archive **archive)
{
    int file = open(path, O_RDONLY);
    if (file < 0)
        return fail_io("open", path);
    enum syn_status status = syn_archive_read(file, path, archive);
    close(file);
    return status;
}

/* Files are mapped, so that many workers on one machine share one copy; gzipped files are
 * decompressed into memory. The files of a data set are replaced by renaming, never rewritten, so
 * that a mapping stays intact. */
#include "engine/data/blob.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zlib.h>

#include "engine/base/fail.h"

/* No file of ours comes near this; it bounds what a few hostile bytes can expand to. */
#define MOST_BYTES ((size_t)2 << 30)

static enum syn_status map(int file, size_t count, struct syn_blob *blob)
{
    blob->bytes = (const uint8_t *)"";
    blob->count = count;
    if (count == 0)
        return SYN_OK;
    void *at = mmap(NULL, count, PROT_READ, MAP_PRIVATE, file, 0);
    if (at == MAP_FAILED)
        return syn_report(SYN_IO, "%s: cannot map %zu bytes: %s", blob->path, count,
                          strerror(errno));
    blob->bytes = at;
    blob->is_mapped = true;
    return SYN_OK;
}

/* Decompress the rest of the stream into a growing block; the caller frees it. */
static enum syn_status inflate_all(gzFile packed, const char *path, uint8_t **bytes, size_t *count)
{
    size_t capacity = 0;
    for (;;) {
        if (*count == capacity) {
            capacity = capacity ? 2 * capacity : (size_t)1 << 20;
            uint8_t *grown = capacity <= MOST_BYTES ? realloc(*bytes, capacity) : NULL;
            if (!grown)
                return capacity > MOST_BYTES
                           ? syn_report(SYN_FORMAT, "%s: unpacks to more than 2 GiB", path)
                           : syn_report(SYN_MEMORY, "%s: cannot allocate %zu bytes", path,
                                        capacity);
            *bytes = grown;
        }
        size_t room = capacity - *count;
        int got = gzread(packed, *bytes + *count, room < INT32_MAX ? (unsigned)room : INT32_MAX);
        int code = Z_OK;
        const char *cause = gzerror(packed, &code);
        if (got < 0 || (got == 0 && code == Z_BUF_ERROR))
            return syn_report(SYN_FORMAT, "%s: damaged or cut short after %zu bytes unpacked: %s",
                              path, *count, cause);
        if (got == 0)
            return SYN_OK;
        *count += (size_t)got;
    }
}

static enum syn_status inflate_file(int file, struct syn_blob *blob)
{
    int copy = dup(file);
    gzFile packed = copy >= 0 ? gzdopen(copy, "rb") : NULL;
    if (!packed) {
        if (copy >= 0)
            close(copy);
        return syn_report(SYN_MEMORY, "%s: cannot start unpacking", blob->path);
    }
    uint8_t *bytes = NULL;
    enum syn_status status = inflate_all(packed, blob->path, &bytes, &blob->count);
    gzclose(packed);
    blob->bytes = bytes;
    blob->allocated = bytes;
    return status;
}

static bool is_gzip(int file)
{
    uint8_t magic[2] = {0};
    return pread(file, magic, 2, 0) == 2 && magic[0] == 0x1f && magic[1] == 0x8b;
}

static enum syn_status load(int file, bool unpacks, struct syn_blob *blob)
{
    struct stat about;
    if (fstat(file, &about) != 0)
        return syn_report(SYN_IO, "%s: %s", blob->path, strerror(errno));
    if (!S_ISREG(about.st_mode))
        return syn_report(SYN_INVALID, "%s: not a regular file", blob->path);
    return unpacks && is_gzip(file) ? inflate_file(file, blob)
                                    : map(file, (size_t)about.st_size, blob);
}

/* The file of that path, or the path with .gz appended; -1, with errno, if neither can be
 * opened. */
static int open_plain_or_packed(const char *path, char found[SYN_PATH_BYTES])
{
    static const char *const endings[] = {"", ".gz"};
    int file = -1;
    errno = ENOENT;
    for (size_t i = 0; file < 0 && errno == ENOENT && i < 2; i++) {
        int length = snprintf(found, SYN_PATH_BYTES, "%s%s", path, endings[i]);
        if (length < 0 || length >= SYN_PATH_BYTES)
            errno = ENAMETOOLONG;
        else
            file = open(found, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    }
    return file;
}

static enum syn_status open_blob(const char *path, bool unpacks, struct syn_blob *blob)
{
    *blob = (struct syn_blob){0};
    int file = open_plain_or_packed(path, blob->path);
    if (file < 0 && errno == ENOENT)
        return syn_report(SYN_INVALID, "%s is missing", path);
    if (file < 0)
        return syn_report(SYN_IO, "%s: %s", path, strerror(errno));
    enum syn_status status = load(file, unpacks, blob);
    close(file);
    if (status != SYN_OK)
        syn_blob_close(blob);
    return status;
}

enum syn_status syn_blob_open(const char *path, struct syn_blob *blob)
{
    return open_blob(path, true, blob);
}

enum syn_status syn_blob_open_packed(const char *path, struct syn_blob *blob)
{
    return open_blob(path, false, blob);
}

bool syn_blob_exists(const char *path)
{
    char found[SYN_PATH_BYTES];
    int file = open_plain_or_packed(path, found);
    if (file < 0)
        return false;
    close(file);
    return true;
}

void syn_blob_close(struct syn_blob *blob)
{
    if (blob->is_mapped)
        munmap((void *)blob->bytes, blob->count);
    free(blob->allocated);
    *blob = (struct syn_blob){0};
}

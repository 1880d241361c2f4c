/* Zip archives as numpy.savez() and savez_compressed() write them: the directory at the end tells
 * where each file is. zlib decompresses the data; the archive format is read here. Archives above 4
 * GiB have a different directory and are not supported: such arrays are better kept as .npy files,
 * which are mapped. */
#include <string.h>
#include <zlib.h>

#include "engine/base/fail.h"
#include "engine/data/npy_read.h"

#define END_MAGIC   0x06054b50U
#define ENTRY_MAGIC 0x02014b50U
#define LOCAL_MAGIC 0x04034b50U
#define END_BYTES   22
#define ENTRY_BYTES 46
#define LOCAL_BYTES 30
#define COMMENT     65535 /* the longest comment after the end record */

struct archive {
    const char *name;
    const uint8_t *bytes;
    size_t count;
};

static size_t two(const uint8_t *at)
{
    return (size_t)at[0] | (size_t)at[1] << 8;
}

static uint32_t four(const uint8_t *at)
{
    return (uint32_t)at[0] | (uint32_t)at[1] << 8 | (uint32_t)at[2] << 16 | (uint32_t)at[3] << 24;
}

/* Where the record at the end begins; 0 if there is none. */
static size_t find_end(const struct archive *archive)
{
    if (archive->count < END_BYTES)
        return 0;
    size_t last = archive->count - END_BYTES;
    size_t first = last > COMMENT ? last - COMMENT : 0;
    for (size_t at = last + 1; at-- > first;)
        if (four(archive->bytes + at) == END_MAGIC)
            return at;
    return 0;
}

static enum syn_status damaged(const struct archive *archive, const char *what, size_t at)
{
    return syn_report(SYN_FORMAT, "%s: damaged zip archive: %s at byte %zu", archive->name, what,
                      at);
}

/* Read an entry of the directory, and find its bytes. */
static enum syn_status read_entry(const struct archive *archive, const uint8_t *entry,
                                  struct syn_zip_file *file)
{
    size_t local = four(entry + 42);
    file->method = (int)two(entry + 10);
    file->crc = four(entry + 16);
    file->packed_count = four(entry + 20);
    file->count = four(entry + 24);
    if (local > archive->count || archive->count - local < LOCAL_BYTES ||
        four(archive->bytes + local) != LOCAL_MAGIC)
        return damaged(archive, "no file", local);
    size_t begin =
        local + LOCAL_BYTES + two(archive->bytes + local + 26) + two(archive->bytes + local + 28);
    if (begin > archive->count || file->packed_count > archive->count - begin)
        return damaged(archive, "a file that is cut short", begin);
    if (file->method != 0 && file->method != Z_DEFLATED)
        return syn_report(SYN_FORMAT, "%s: compressed by method %d; expected stored or deflated",
                          archive->name, file->method);
    file->packed = archive->bytes + begin;
    return SYN_OK;
}

enum syn_status syn_zip_list(const char *archive, const uint8_t *bytes, size_t count,
                             syn_zip_visit *visit, void *context)
{
    const struct archive a = {archive, bytes, count};
    const size_t end = find_end(&a);
    if (end == 0)
        return syn_report(SYN_FORMAT, "%s: not a zip archive: no directory at its end", archive);
    size_t at = four(bytes + end + 16);
    for (size_t left = two(bytes + end + 10); left > 0; left--) {
        struct syn_zip_file file = {0};
        if (at > end || end - at < ENTRY_BYTES || four(bytes + at) != ENTRY_MAGIC)
            return damaged(&a, "no entry of the directory", at);
        size_t length = two(bytes + at + 28);
        size_t next = ENTRY_BYTES + length + two(bytes + at + 30) + two(bytes + at + 32);
        if (next > end - at)
            return damaged(&a, "an entry that is cut short", at);
        SYN_TRY(read_entry(&a, bytes + at, &file));
        SYN_TRY(visit(context, (const char *)bytes + at + ENTRY_BYTES, length, &file));
        at += next;
    }
    return SYN_OK;
}

struct search {
    const char *name;
    struct syn_zip_file *file;
};

static enum syn_status compare(void *context, const char *name, size_t length,
                               const struct syn_zip_file *file)
{
    const struct search *search = context;
    if (length == strlen(search->name) && memcmp(name, search->name, length) == 0)
        *search->file = *file;
    return SYN_OK;
}

enum syn_status syn_zip_find(const char *archive, const uint8_t *bytes, size_t count,
                             const char *name, struct syn_zip_file *file)
{
    struct search search = {name, file};
    file->packed = NULL;
    return syn_zip_list(archive, bytes, count, compare, &search);
}

static enum syn_status inflate_all(const char *archive, const char *name,
                                   const struct syn_zip_file *file, uint8_t *to)
{
    z_stream stream = {.next_in = (z_const Bytef *)file->packed,
                       .avail_in = (uInt)file->packed_count,
                       .next_out = to,
                       .avail_out = (uInt)file->count};
    if (inflateInit2(&stream, -MAX_WBITS) != Z_OK)
        return syn_report(SYN_MEMORY, "%s: cannot start unpacking", archive);
    int code = inflate(&stream, Z_FINISH);
    size_t got = stream.total_out;
    inflateEnd(&stream);
    if (code != Z_STREAM_END || got != file->count)
        return syn_report(SYN_FORMAT, "%s: %s is damaged after %zu of %zu bytes unpacked", archive,
                          name, got, file->count);
    return SYN_OK;
}

enum syn_status syn_zip_unpack(const char *archive, const char *name,
                               const struct syn_zip_file *file, uint8_t *to)
{
    if (file->method != 0)
        SYN_TRY(inflate_all(archive, name, file, to));
    else if (file->packed_count != file->count)
        return syn_report(SYN_FORMAT, "%s: %s has %zu bytes; its entry says %zu", archive, name,
                          file->packed_count, file->count);
    else
        memcpy(to, file->packed, file->count);
    uint32_t crc = (uint32_t)crc32_z(0, to, file->count);
    if (crc != file->crc)
        return syn_report(SYN_FORMAT, "%s: %s has checksum %08x; expected %08x", archive, name,
                          (unsigned)crc, (unsigned)file->crc);
    return SYN_OK;
}

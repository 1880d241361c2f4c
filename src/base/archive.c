/* Archives in memory. On disk: a head, then for each section a fixed-size title (name, size,
 * checksum) and its bytes, padded to eight. The head has the number of sections and bytes and a
 * checksum of all titles, so that a file truncated anywhere is detected before any section is
 * read. */
#include "base/archive.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "base/hash.h"

#define MAGIC   0x56484352414e5953U /* "SYNARCHV" */
#define VERSION 1

struct head {
    uint64_t magic;
    uint32_t version;
    uint32_t sections;
    uint64_t bytes;  /* of the whole file */
    uint64_t titles; /* hash of all titles, in order */
};

struct title {
    char name[SYN_SECTION_NAME];
    uint64_t count;
    uint64_t hash;
};

struct section {
    struct title title;
    void *bytes;
};

struct syn_archive {
    struct section *sections; /* [capacity] */
    size_t count;
    size_t capacity;
};

static size_t padded(size_t count)
{
    return (count + 7) / 8 * 8;
}

enum syn_status syn_archive_new(struct syn_archive **archive)
{
    struct syn_archive *made = calloc(1, sizeof *made);
    if (!made)
        return syn_fail(SYN_MEMORY, "cannot allocate an archive");
    *archive = made;
    return SYN_OK;
}

void syn_archive_free(struct syn_archive *archive)
{
    if (!archive)
        return;
    for (size_t i = 0; i < archive->count; i++)
        free(archive->sections[i].bytes);
    free(archive->sections);
    free(archive);
}

static const struct section *find(const struct syn_archive *archive, const char *name)
{
    for (size_t i = 0; i < archive->count; i++)
        if (strcmp(archive->sections[i].title.name, name) == 0)
            return &archive->sections[i];
    return NULL;
}

static enum syn_status make_room(struct syn_archive *archive)
{
    if (archive->count < archive->capacity)
        return SYN_OK;
    size_t capacity = archive->capacity ? 2 * archive->capacity : 16;
    struct section *grown = realloc(archive->sections, capacity * sizeof *grown);
    if (!grown)
        return syn_fail(SYN_MEMORY, "cannot allocate %zu sections", capacity);
    archive->sections = grown;
    archive->capacity = capacity;
    return SYN_OK;
}

enum syn_status syn_archive_add(struct syn_archive *archive, const char *name, const void *bytes,
                                size_t count)
{
    struct section made = {.title.count = count, .title.hash = syn_hash(0, bytes, count)};
    if (name[0] == '\0' || strlen(name) >= SYN_SECTION_NAME || find(archive, name))
        return syn_fail(SYN_INVALID, "section name \"%.64s\" is empty, too long, or exists already",
                        name);
    memcpy(made.title.name, name, strlen(name));
    SYN_TRY(make_room(archive));
    made.bytes = malloc(count ? count : 1);
    if (!made.bytes)
        return syn_fail(SYN_MEMORY, "cannot allocate section \"%s\" of %zu bytes", name, count);
    if (count > 0)
        memcpy(made.bytes, bytes, count);
    archive->sections[archive->count++] = made;
    return SYN_OK;
}

struct syn_section syn_archive_section(const struct syn_archive *archive, size_t i)
{
    if (i >= archive->count)
        return (struct syn_section){NULL, NULL, 0};
    const struct section *section = &archive->sections[i];
    return (struct syn_section){section->title.name, section->bytes, (size_t)section->title.count};
}

enum syn_status syn_archive_find(const struct syn_archive *archive, const char *name,
                                 struct syn_section *section)
{
    const struct section *found = find(archive, name);
    if (!found)
        return syn_fail(SYN_FORMAT, "no section \"%.64s\"", name);
    *section = (struct syn_section){found->title.name, found->bytes, (size_t)found->title.count};
    return SYN_OK;
}

enum syn_status syn_archive_copy(const struct syn_archive *archive, const char *name, void *to,
                                 size_t count)
{
    struct syn_section section = {0};
    SYN_TRY(syn_archive_find(archive, name, &section));
    if (section.count != count)
        return syn_fail(SYN_FORMAT, "section \"%s\" has %zu bytes; expected %zu", name,
                        section.count, count);
    if (count > 0)
        memcpy(to, section.bytes, count);
    return SYN_OK;
}

size_t syn_archive_bytes(const struct syn_archive *archive)
{
    size_t total = sizeof(struct head);
    for (size_t i = 0; i < archive->count; i++)
        total += sizeof(struct title) + padded((size_t)archive->sections[i].title.count);
    return total;
}

void syn_archive_write(const struct syn_archive *archive, void *to)
{
    struct head head = {.magic = MAGIC,
                        .version = VERSION,
                        .sections = (uint32_t)archive->count,
                        .bytes = syn_archive_bytes(archive)};
    uint8_t *at = (uint8_t *)to + sizeof head;
    for (size_t i = 0; i < archive->count; i++) {
        const struct section *section = &archive->sections[i];
        size_t count = (size_t)section->title.count;
        head.titles = syn_hash(head.titles, &section->title, sizeof section->title);
        memcpy(at, &section->title, sizeof section->title);
        at += sizeof section->title;
        memcpy(at, section->bytes, count);
        memset(at + count, 0, padded(count) - count);
        at += padded(count);
    }
    memcpy(to, &head, sizeof head);
}

static enum syn_status check_head(const struct head *head, size_t count, const char *origin)
{
    if (head->magic != MAGIC)
        return syn_fail(SYN_FORMAT, "%s: not an archive", origin);
    if (head->version != VERSION)
        return syn_fail(SYN_FORMAT, "%s: version %u; expected %d", origin, head->version, VERSION);
    if (head->bytes != count)
        return syn_fail(SYN_FORMAT, "%s: %zu bytes; expected %llu according to its head", origin,
                        count, (unsigned long long)head->bytes);
    return SYN_OK;
}

/* Parse one section at `at`, where `left` bytes are available; *used is how many it takes. */
static enum syn_status parse_section(struct syn_archive *archive, const uint8_t *at, size_t left,
                                     const char *origin, struct title *title, size_t *used)
{
    if (left < sizeof *title)
        return syn_fail(SYN_FORMAT, "%s: truncated in the title of section %zu", origin,
                        archive->count);
    memcpy(title, at, sizeof *title);
    if (!memchr(title->name, '\0', sizeof title->name))
        return syn_fail(SYN_FORMAT, "%s: the name of section %zu is not terminated", origin,
                        archive->count);
    left -= sizeof *title;
    if (title->count > left || padded((size_t)title->count) > left)
        return syn_fail(SYN_FORMAT, "%s: section \"%s\" of %llu bytes, but only %zu are left",
                        origin, title->name, (unsigned long long)title->count, left);
    const uint8_t *bytes = at + sizeof *title;
    if (syn_hash(0, bytes, (size_t)title->count) != title->hash)
        return syn_fail(SYN_FORMAT, "%s: section \"%s\" is damaged", origin, title->name);
    *used = sizeof *title + padded((size_t)title->count);
    return syn_archive_add(archive, title->name, bytes, (size_t)title->count);
}

static enum syn_status parse_sections(struct syn_archive *archive, const struct head *head,
                                      const uint8_t *at, size_t left, const char *origin)
{
    uint64_t titles = 0;
    for (uint32_t i = 0; i < head->sections; i++) {
        struct title title;
        size_t used = 0;
        SYN_TRY(parse_section(archive, at, left, origin, &title, &used));
        titles = syn_hash(titles, &title, sizeof title);
        at += used;
        left -= used;
    }
    if (left > 0)
        return syn_fail(SYN_FORMAT, "%s: %zu bytes after the last section", origin, left);
    if (titles != head->titles)
        return syn_fail(SYN_FORMAT, "%s: the titles of its sections are damaged", origin);
    return SYN_OK;
}

enum syn_status syn_archive_parse(const void *bytes, size_t count, const char *origin,
                                  struct syn_archive **archive)
{
    struct head head;
    if (count < sizeof head)
        return syn_fail(SYN_FORMAT, "%s: %zu bytes are too few for an archive", origin, count);
    memcpy(&head, bytes, sizeof head);
    SYN_TRY(check_head(&head, count, origin));
    struct syn_archive *made = NULL;
    SYN_TRY(syn_archive_new(&made));
    enum syn_status status = parse_sections(made, &head, (const uint8_t *)bytes + sizeof head,
                                            count - sizeof head, origin);
    if (status != SYN_OK) {
        syn_archive_free(made);
        return status == SYN_INVALID ? SYN_FORMAT : status;
    }
    *archive = made;
    return SYN_OK;
}

/* Archives: named sections of bytes in one file, each with a checksum. Checkpoints are such files;
 * docs/formats.md specifies every byte. */
#ifndef SYNCOPATE_ARCHIVE_H
#define SYNCOPATE_ARCHIVE_H

#include <stddef.h>
#include <stdint.h>

#include <syncopate/status.h>

#ifdef __cplusplus
extern "C" {
#endif

struct syn_archive;

/* One section; owned by the archive. */
struct syn_section {
    const char *name;
    const void *bytes;
    size_t count;
};

#define SYN_SECTION_NAME 48 /* maximum bytes of a name, including its NUL */

/* Make an empty archive. */
enum syn_status syn_archive_new(struct syn_archive **archive);

/* Append a section, copying it.
 *   name  not empty, unique in the archive, shorter than SYN_SECTION_NAME */
enum syn_status syn_archive_add(struct syn_archive *archive, const char *name, const void *bytes,
                                size_t count);

/* Section number i; a name of NULL past the last. */
struct syn_section syn_archive_section(const struct syn_archive *archive, size_t i);

/* The section of that name; SYN_FORMAT if there is none. */
enum syn_status syn_archive_find(const struct syn_archive *archive, const char *name,
                                 struct syn_section *section);

/* Copy the section of that name into a buffer of exactly its size; SYN_FORMAT if there is none or
 * its size differs. */
enum syn_status syn_archive_copy(const struct syn_archive *archive, const char *name, void *to,
                                 size_t count);

/* Write the archive to a file atomically: at any moment either the old file or the whole new one
 * exists. It is written under a temporary name in the same directory, synced to disk, then renamed.
 * On failure SYN_IO, and nothing is left behind. */
enum syn_status syn_archive_save(const struct syn_archive *archive, const char *path);

/* Read a file. SYN_IO if it cannot be read, SYN_FORMAT with the reason if it is damaged or not an
 * archive. */
enum syn_status syn_archive_load(const char *path, struct syn_archive **archive);

/* The same from a file that is already open, from its beginning: whoever has it open can read it
 * even after it has been removed.
 *   origin  the name of the file, for error messages */
enum syn_status syn_archive_read(int file, const char *origin, struct syn_archive **archive);

/* The same from memory.
 *   origin  where the bytes came from, such as a file name; for error messages */
enum syn_status syn_archive_parse(const void *bytes, size_t count, const char *origin,
                                  struct syn_archive **archive);

void syn_archive_free(struct syn_archive *archive);

#ifdef __cplusplus
}
#endif
#endif

/* A file's contents in memory. */
#ifndef SYN_ENGINE_DATA_BLOB_H
#define SYN_ENGINE_DATA_BLOB_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <syncopate/status.h>

#include "engine/base/path.h"

struct syn_blob {
    const uint8_t *bytes;
    size_t count;
    bool is_mapped;
    void *allocated;           /* if not mapped; may be NULL */
    char path[SYN_PATH_BYTES]; /* of the file that was read, for messages */
};

/* Open a file or, if it does not exist, the one with .gz appended, decompressed. Missing, or not a
 * regular file: SYN_INVALID. Unreadable: SYN_IO. Damaged, or more than 2 GiB decompressed:
 * SYN_FORMAT. */
enum syn_status syn_blob_open(const char *path, struct syn_blob *blob);

/* Open a file as it is, packed or not. */
enum syn_status syn_blob_open_packed(const char *path, struct syn_blob *blob);

/* Whether syn_blob_open() would find a file. */
bool syn_blob_exists(const char *path);

/* Release it; a zeroed blob is allowed. */
void syn_blob_close(struct syn_blob *blob);

#endif

/* Shared by the files that implement archives. */
#ifndef SYN_BASE_ARCHIVE_H
#define SYN_BASE_ARCHIVE_H

#include <syncopate/archive.h>

#include "base/status.h"

/* Bytes that syn_archive_write() writes. */
size_t syn_archive_bytes(const struct syn_archive *archive);

/* Write the archive in its on-disk format. */
void syn_archive_write(const struct syn_archive *archive, void *to);

#endif

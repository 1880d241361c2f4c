/* What the files of the archive share. */
#ifndef SYN_BASE_ARCHIVE_H
#define SYN_BASE_ARCHIVE_H

#include <syncopate/archive.h>

#include "base/status.h"

/* Bytes that syn_archive_write() writes. */
size_t syn_archive_bytes(const struct syn_archive *archive);

/* The archive as it is on disk. */
void syn_archive_write(const struct syn_archive *archive, void *to);

#endif

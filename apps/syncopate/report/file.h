/* Reading and writing whole files. */
#ifndef SYN_APP_REPORT_FILE_H
#define SYN_APP_REPORT_FILE_H

#include <stddef.h>

#include <syncopate/status.h>

#include "text.h"

/* Add a file's bytes to text. SYN_INVALID if the file does not exist, is not a regular file (a pipe
 * would block us), or is larger than most. */
enum syn_status file_read(const char *path, size_t most, struct text *text);

/* Replace the contents of path by text; on failure path is unchanged. SYN_INVALID if path exists
 * and is not a regular file, or if its folder does not exist. */
enum syn_status file_write(const char *path, const struct text *text);

#endif

/* Files as a whole. */
#ifndef SYN_APP_REPORT_FILE_H
#define SYN_APP_REPORT_FILE_H

#include <stddef.h>

#include <syncopate/status.h>

#include "text.h"

/* Add a file's bytes to text. A file that is not there, is none (a pipe would make us wait), or is
 * larger than most: SYN_INVALID. */
enum syn_status file_read(const char *path, size_t most, struct text *text);

/* Make path hold text: whole, or as it was before. What is there and is no plain file, or a folder
 * that is not there: SYN_INVALID. */
enum syn_status file_write(const char *path, const struct text *text);

#endif
